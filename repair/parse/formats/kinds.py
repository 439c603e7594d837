"""Which pages are files that `repair.parse.formats` reads: by content type, or by address where that is vague."""

import re
from enum import StrEnum

from repair.model import Page


class FileKind(StrEnum):
    """A format; the values are also the suffixes of file names."""

    PDF = "pdf"
    EPUB = "epub"
    DOCX = "docx"
    ODT = "odt"


CONTENT_TYPES = {
    FileKind.PDF: "application/pdf",
    FileKind.EPUB: "application/epub+zip",
    FileKind.DOCX: "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    FileKind.ODT: "application/vnd.oasis.opendocument.text",
}
_BY_TYPE = {name: kind for kind, name in CONTENT_TYPES.items()} | {"application/x-pdf": FileKind.PDF}
# What servers say of files whose type they do not know.
_UNKNOWN_TYPES = frozenset(
    (
        *("", "binary/octet-stream", "application/octet-stream", "application/force-download"),
        *(
            "application/download",
            "application/x-download",
            "application/zip",
            "application/x-zip-compressed",
        ),
    )
)
_SUFFIX = re.compile(rf"(?i)\.({'|'.join(FileKind)})(?=[?#]|\Z)")
_PDF_MARK = b"%PDF-"
_PDF_MARK_WITHIN = 1024  # some servers and mail programs put a few bytes before it
_ZIP_MARK = b"PK\x03\x04"


def kind_of(page: Page) -> FileKind | None:
    """The format that headers and address claim; None for pages, pictures and other files."""
    media_type = (page.header("content-type") or "").partition(";")[0].partition(",")[0].strip().lower()
    return kind_of_content(media_type, page.url)


def kind_of_content(media_type: str, url: str) -> FileKind | None:
    """The same by a media type in lower case, and by the address where that says nothing."""
    return kind_of_url(url) if media_type in _UNKNOWN_TYPES else _BY_TYPE.get(media_type)


def kind_of_url(url: str) -> FileKind | None:
    """The format that the file name at the end of a URL's path claims.

    >>> kind_of_url("http://school.test/plan.PDF?download=1")
    <FileKind.PDF: 'pdf'>
    """
    found = _SUFFIX.search(url.partition("?")[0].partition("#")[0])
    return FileKind(found[1].lower()) if found else None


def has_mark(kind: FileKind, body: bytes) -> bool:
    """Whether the first bytes are those of the format, so that it is worth a try."""
    if kind is FileKind.PDF:
        return _PDF_MARK in body[:_PDF_MARK_WITHIN]
    return body.startswith(_ZIP_MARK)
