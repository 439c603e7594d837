"""Worksheets: the links of a document that somebody uploads, and the document with some of them replaced.

Nothing else of the document changes, not a byte of text or XML. Read `worksheet` first. All but `model` run only in
the helper process, because anybody may have written the document.

model        the formats, and what is read of them
worksheet    reads and rewrites
places       where the links are in text, Markdown, HTML and XML, by byte
zipmembers   a zip file with some members replaced, and all others copied as they are
"""
