"""XML read as events by expat, which keeps nothing in memory. A file with entities of its own is refused."""

from collections.abc import Callable, Mapping
from typing import Protocol
from xml.parsers import expat

from repair.parse.formats.extraction import Unreadable

MAX_DEPTH = 500
MAX_EVENTS = 3_000_000
"""Elements of one part; nothing of interest comes after so many."""


class XmlListener(Protocol):
    """Is told what comes. Names come without their namespaces."""

    def start(self, tag: str, attributes: Mapping[str, str]) -> None: ...

    def end(self, tag: str) -> None: ...

    def text(self, text: str) -> None: ...


def read_xml(data: bytes, listener: XmlListener, *, on_position: Callable[[int], None] | None = None) -> bool:
    """Read to the end; False when the file is malformed, so that the listener knows only what came before.

    `on_position` is told at which byte an element starts, before the listener. Raises Unreadable for what no honest
    file has.
    """
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    depth = events = 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth, events
        depth += 1
        events += 1
        if depth > MAX_DEPTH or events > MAX_EVENTS:
            raise Unreadable("XML too deep or too long")
        if on_position is not None:
            on_position(parser.CurrentByteIndex)
        listener.start(_local(name), {_local(key): value for key, value in attributes.items()})

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1
        listener.end(_local(name))

    def refuse_entity(*_: object) -> None:
        raise Unreadable("XML with entities of its own")

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = listener.text
    parser.EntityDeclHandler = refuse_entity
    try:
        parser.Parse(data, True)
    except expat.ExpatError:
        return False
    return True


def _local(name: str) -> str:
    return name.rpartition(" ")[2]


class MetadataReader:
    """The Dublin Core fields of DOCX, ODT and EPUB; the first of each name counts."""

    _NAMES = frozenset(("title", "language", "description", "subject", "keywords", "keyword"))

    def __init__(self) -> None:
        self.fields: dict[str, str] = {}
        self._name = ""

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._name = tag if tag in self._NAMES and tag not in self.fields else ""

    def end(self, tag: str) -> None:
        self._name = ""

    def text(self, text: str) -> None:
        if self._name:
            self.fields[self._name] = (self.fields.get(self._name, "") + text)[:2000]

    def get(self, *names: str) -> str:
        """The first of these fields that the file has."""
        return next((value for name in names if (value := self.fields.get(name, "").strip())), "")


def read_metadata(data: bytes | None) -> MetadataReader:
    """The fields of a part that may be missing or malformed."""
    found = MetadataReader()
    if data:
        read_xml(data, found)
    return found
