"""Files that are no web pages: PDF, EPUB, DOCX and ODT. Anybody may have written them, and their formats are complex.

So a separate process takes them apart, with limits on its memory and time. Read `reader` first (this side of it),
then `helper` (the other side); `kinds` says which pages are such files. Nothing else may import the modules that
read one format.
"""
