"""Small PDF, EPUB, DOCX and ODT files, written by hand so that tests know every byte of them."""

import io
import zipfile
from xml.sax.saxutils import escape

DOCX_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
ODT_TYPE = "application/vnd.oasis.opendocument.text"


def a_pdf(*pages, title="", language="", links=(), encrypt="", extra=()):
    """A PDF with a string of lines on each page; `links` are (url, line number) on the first page."""
    objects = {1: f"<< /Type /Catalog /Pages 2 0 R {f'/Lang ({language})' if language else ''} >>"}
    kids = " ".join(f"{10 + 10 * n} 0 R" for n in range(len(pages)))
    objects[2] = f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>"
    objects[3] = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
    objects[4] = f"<< /Title ({title}) >>"
    for number, text in enumerate(pages):
        at = 10 + 10 * number
        lines = "".join(f"({line}) Tj 0 -20 Td " for line in text.splitlines())
        content = f"BT /F1 12 Tf 50 700 Td {lines}ET"
        notes = ""
        if number == 0 and links:
            notes = "/Annots [" + " ".join(f"{at + 2 + n} 0 R" for n in range(len(links))) + "]"
            for n, (url, line) in enumerate(links):
                top = 712 - 20 * line
                objects[at + 2 + n] = (
                    f"<< /Type /Annot /Subtype /Link /Rect [45 {top - 16} 400 {top}] "
                    f"/A << /S /URI /URI ({url}) >> >>"
                )
        objects[at] = (
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents {at + 1} 0 R {notes} "
            "/Resources << /Font << /F1 3 0 R >> >> >>"
        )
        objects[at + 1] = f"<< /Length {len(content)} >>\nstream\n{content}\nendstream"
    objects.update(extra)
    return pdf_of(objects, trailer=f"/Root 1 0 R /Info 4 0 R {encrypt}")


def pdf_of(objects, trailer="/Root 1 0 R"):
    """A PDF of objects by number: strings or bytes between `obj` and `endobj`."""
    out, offsets = bytearray(b"%PDF-1.7\n"), {}
    for number, content in sorted(objects.items()):
        offsets[number] = len(out)
        body = content if isinstance(content, bytes) else content.encode("latin-1")
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    at = len(out)
    for number, offset in offsets.items():
        out += (b"xref\n0 1\n0000000000 65535 f \n" if number == min(offsets) else b"") + (
            b"%d 1\n%010d 00000 n \n" % (number, offset)
        )
    size = max(offsets) + 1
    out += b"trailer\n<< /Size %d %s >>\nstartxref\n%d\n%%%%EOF\n" % (size, trailer.encode(), at)
    return bytes(out)


def a_zip(parts, compression=zipfile.ZIP_DEFLATED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return out.getvalue()


_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_R = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
_DC = 'xmlns:dc="http://purl.org/dc/elements/1.1/"'


def docx_paragraph(text, style=""):
    look = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{look}<w:r><w:t>{escape(text)}</w:t></w:r></w:p>"


def a_docx(*paragraphs, title="", language="", links=None, body=""):
    """A DOCX of paragraphs of text, then `body` as XML; `links` are the targets of hyperlinks by id."""
    main = "".join(map(docx_paragraph, paragraphs)) + body
    targets = "".join(
        f'<Relationship Id="{name}" Type="hyperlink" Target="{escape(url)}" TargetMode="External"/>'
        for name, url in (links or {}).items()
    )
    return a_zip(
        {
            "[Content_Types].xml": "<Types/>",
            "word/document.xml": f"<w:document {_W} {_R}><w:body>{main}</w:body></w:document>",
            "word/_rels/document.xml.rels": f"<Relationships>{targets}</Relationships>",
            "docProps/core.xml": f"<coreProperties {_DC}><dc:title>{escape(title)}</dc:title>"
            f"<dc:language>{language}</dc:language></coreProperties>",
        }
    )


def an_odt(*paragraphs, title="", language="", body=""):
    """An ODT of paragraphs of text, then `body` as XML."""
    names = 'xmlns:text="urn:t" xmlns:office="urn:o" xmlns:xlink="http://www.w3.org/1999/xlink"'
    main = "".join(f"<text:p>{escape(text)}</text:p>" for text in paragraphs) + body
    return a_zip(
        {
            "mimetype": ODT_TYPE,
            "content.xml": f"<office:document-content {names}><office:body><office:text>{main}"
            "</office:text></office:body></office:document-content>",
            "meta.xml": f"<office:document-meta {names} {_DC}><office:meta><dc:title>{escape(title)}</dc:title>"
            f"<dc:language>{language}</dc:language></office:meta></office:document-meta>",
        }
    )


def an_epub(*chapters, title="", language="", others=None):
    """An EPUB whose chapters are the insides of XHTML bodies; `others` are further parts."""
    items = "".join(
        f'<item id="c{n}" href="text/c{n}.xhtml" media-type="application/xhtml+xml"/>'
        for n in range(len(chapters))
    )
    spine = "".join(f'<itemref idref="c{n}"/>' for n in range(len(chapters)))
    parts = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": '<container><rootfile full-path="OPS/book.opf"/></container>',
        "OPS/book.opf": f"<package {_DC}><metadata><dc:title>{escape(title)}</dc:title><dc:language>{language}"
        f"</dc:language></metadata><manifest>{items}</manifest><spine>{spine}</spine></package>",
    }
    for n, chapter in enumerate(chapters):
        parts[f"OPS/text/c{n}.xhtml"] = f"<html><head><title>{n}</title></head><body>{chapter}</body></html>"
    return a_zip(parts | (others or {}))
