"""DOCX (Word, ECMA-376): paragraphs, headings and hyperlinks of the main part; no footnotes or deletions."""

import re
from collections.abc import Mapping

from repair.parse.formats.extraction import Extraction, TextBuilder, Unreadable
from repair.parse.formats.xmlevents import read_metadata, read_xml
from repair.parse.formats.zipparts import ZipParts

_MAIN = "word/document.xml"
_RELATIONS = "word/_rels/document.xml.rels"
_HEADING_STYLE = re.compile(r"(?i)heading ?[1-6]|title|berschrift[1-6]|titre[1-6]|ttulo[1-6]")
_FIELD_LINK = re.compile(r'HYPERLINK\s+"([^"]+)"')


def read_docx(data: bytes) -> Extraction:
    """The content of a DOCX file; raises Unreadable."""
    parts = ZipParts(data)
    main = parts.read(_MAIN)
    targets = _Relations()
    if (relations := parts.find(_RELATIONS)) is not None:
        read_xml(relations, targets)
    body = _Body(targets.urls)
    if not read_xml(main, body) and not body.built.text().strip():
        raise Unreadable("malformed XML")
    metadata = read_metadata(parts.find("docProps/core.xml"))
    return Extraction(
        text=body.built.text(),
        title=metadata.get("title"),
        headings=body.built.headings(),
        description=metadata.get("description", "subject"),
        keywords=metadata.get("keywords"),
        language=metadata.get("language"),
        links=body.built.links(),
    )


class _Relations:
    """The targets of hyperlinks, by id."""

    def __init__(self) -> None:
        self.urls: dict[str, str] = {}

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag == "Relationship" and attributes.get("TargetMode") == "External":
            self.urls[attributes.get("Id", "")] = attributes.get("Target", "")

    def end(self, tag: str) -> None: ...

    def text(self, text: str) -> None: ...


class _Body:
    """Text is in `t`, within paragraphs `p`. A link is an element, or a field: its code, then its text."""

    def __init__(self, targets: Mapping[str, str]) -> None:
        self.built = TextBuilder()
        self._targets = targets
        self._in_text = self._in_code = False
        self._code = ""
        self._fallback = 0

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag == "Fallback":  # the same text again, for programs that do not know text boxes
            self._fallback += 1
        elif tag == "t":
            self._in_text = not self._fallback
        elif tag in ("tab", "br", "cr"):
            self.built.add(" ")
        elif tag == "pStyle" and _HEADING_STYLE.fullmatch(attributes.get("val", "")):
            self.built.start_heading()
        elif tag == "hyperlink":
            self.built.start_link(self._targets.get(attributes.get("id", ""), ""))
        elif tag == "instrText":
            self._in_code = True
        elif tag == "fldChar":
            self._see_field(attributes.get("fldCharType", ""))

    def _see_field(self, place: str) -> None:
        if place == "begin":
            self._code = ""
        elif place == "separate" and (link := _FIELD_LINK.search(self._code)):
            self.built.start_link(link[1])
        elif place == "end":
            self.built.end_link()

    def end(self, tag: str) -> None:
        if tag == "Fallback":
            self._fallback -= 1
        elif tag == "t":
            self._in_text = False
        elif tag == "p":
            self.built.end_paragraph()
        elif tag == "hyperlink":
            self.built.end_link()
        elif tag == "instrText":
            self._in_code = False

    def text(self, text: str) -> None:
        if self._in_text:
            self.built.add(text)
        elif self._in_code:
            self._code = (self._code + text)[:8_000]
