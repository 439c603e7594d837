"""ODT (OpenDocument text, ISO 26300): paragraphs, headings and links of the content; no deletions or comments."""

from collections.abc import Mapping

from repair.parse.formats.extraction import Extraction, TextBuilder, Unreadable
from repair.parse.formats.xmlevents import read_metadata, read_xml
from repair.parse.formats.zipparts import ZipParts

_SKIPPED = frozenset(("tracked-changes", "annotation", "scripts", "font-face-decls", "automatic-styles"))


def read_odt(data: bytes) -> Extraction:
    """The content of an ODT file; raises Unreadable."""
    parts = ZipParts(data)
    content = parts.read("content.xml")
    body = _Body()
    if not read_xml(content, body) and not body.built.text().strip():
        raise Unreadable("malformed XML, or encrypted")
    metadata = read_metadata(parts.find("meta.xml"))
    return Extraction(
        text=body.built.text(),
        title=metadata.get("title"),
        headings=body.built.headings(),
        description=metadata.get("description", "subject"),
        keywords=metadata.get("keyword"),
        language=metadata.get("language"),
        links=body.built.links(),
    )


class _Body:
    """Text is directly in paragraphs `p` and headings `h`, and in spans and links `a` within them."""

    def __init__(self) -> None:
        self.built = TextBuilder()
        self._paragraphs = self._skipped = 0

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag in _SKIPPED:
            self._skipped += 1
        elif tag in ("p", "h"):
            self._paragraphs += 1
            if tag == "h":
                self.built.start_heading()
        elif tag in ("s", "tab", "line-break"):
            self.built.add(" ")
        elif tag == "a" and not self._skipped:
            self.built.start_link(attributes.get("href", ""))

    def end(self, tag: str) -> None:
        if tag in _SKIPPED:
            self._skipped -= 1
        elif tag in ("p", "h"):
            self._paragraphs -= 1
            self.built.end_paragraph()
        elif tag == "a":
            self.built.end_link()

    def text(self, text: str) -> None:
        if self._paragraphs and not self._skipped:
            self.built.add(text)
