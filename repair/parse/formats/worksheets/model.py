"""What passes between linkmend and its helper process about worksheets."""

from enum import StrEnum

from msgspec import Struct

from repair.parse.formats.extraction import ExtractedLink


class WorksheetFormat(StrEnum):
    """The formats; the values are also the suffixes of file names."""

    HTML = "html"
    DOCX = "docx"
    ODT = "odt"
    PDF = "pdf"
    MARKDOWN = "md"
    TEXT = "txt"


FIXABLE = frozenset(WorksheetFormat) - {WorksheetFormat.PDF}
"""Formats that are written again; a PDF is laid out for its page, and is left as it is."""


class WorksheetJob(Struct, frozen=True, array_like=True):
    """What the helper is asked: to read a document, or with `replacements` to write it again."""

    format: WorksheetFormat
    data: bytes
    replacements: dict[str, str] = {}


class WorksheetContent(Struct, frozen=True, array_like=True, tag="worksheet"):
    """The links of a document in their order, each address once. Nothing is tidied up."""

    title: str
    links: tuple[ExtractedLink, ...]


class RewrittenWorksheet(Struct, frozen=True, array_like=True, tag="rewritten"):
    """A document with its links replaced."""

    data: bytes
