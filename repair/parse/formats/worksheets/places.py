"""Where links are: in text, Markdown, HTML and XML, as positions of bytes (pure).

Documents are read as Latin-1, in which every byte is one character: positions are those of the file, and what is not
touched stays as it is. Only addresses and the words around them are decoded.
"""

import html
import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from html.parser import HTMLParser

from repair.parse.formats.extraction import MAX_FIELD, MAX_LINKS, MAX_TEXT, MAX_URL, Unreadable
from repair.parse.formats.xmlevents import read_xml

_WEB = ("http://", "https://")
_URL = re.compile(r"https?://[^\s<>\"'`\\{}|^]+", re.IGNORECASE)
_FENCE = re.compile(r"^ {0,3}(```|~~~)", re.MULTILINE)
_CODE = re.compile(r"`[^`\n]{1,2000}`")
_ATTRIBUTE = re.compile(r"[\s/]*([^\s/>=][^\s/>=]*)(?:\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s>\"']+)))?")
_SIDE = 600
_ENDS = ".,;:!?*_~"
_UNSAFE = {ord(char): f"%{ord(char):02X}" for char in "\"'<>` \t\r\n\\"}
_MARKS = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkPlace:
    """One address in a document: the bytes from `start` to `end` of a part, and the words around it."""

    url: str
    start: int
    end: int
    markup: bool = False
    """Whether it is written in HTML or XML, where & is &amp;."""
    part: str = ""
    anchor: str = ""
    before: str = ""
    after: str = ""


def as_characters(data: bytes) -> str:
    """A document as one character a byte. Raises Unreadable for UTF-16, whose bytes are no characters."""
    if data.startswith(_MARKS) or b"\0" in data[:1000]:
        raise Unreadable("written in UTF-16; save it as UTF-8")
    return data.decode("latin-1")


def written(place: LinkPlace, url: str) -> bytes:
    """Another address as it is written in this place."""
    safe = url.translate(_UNSAFE)
    return (safe.replace("&", "&amp;") if place.markup else safe).encode("utf-8")


def replace_links(data: bytes, places: Collection[LinkPlace], replacements: Mapping[str, str]) -> bytes:
    """A part with the addresses replaced that `replacements` names; all other bytes stay."""
    pieces, at = list[bytes](), 0
    for place in sorted(places, key=lambda each: each.start):
        fresh = replacements.get(place.url)
        if fresh is None or place.start < at:
            continue
        pieces += (data[at : place.start], written(place, fresh))
        at = place.end
    return b"".join((*pieces, data[at:]))


def text_places(data: bytes, *, markdown: bool = False) -> list[LinkPlace]:
    """The addresses in plain text or Markdown; there, what is code is no link."""
    text = as_characters(data)
    codes = _code_spans(text) if markdown else []
    starts = [start for start, _ in codes]
    places = []
    for found in _URL.finditer(text):
        start = found.start()
        number = bisect_right(starts, start) - 1
        if number >= 0 and start < codes[number][1]:
            continue
        url = _trim(found[0], in_parentheses=_just_before(text, start).endswith("("))
        if len(url) > MAX_URL or url.endswith("://"):
            continue
        end = start + len(url)
        places.append(_in_text(text, url, start, end))
        if len(places) >= MAX_LINKS:
            break
    return places


def html_places(data: bytes) -> list[LinkPlace]:
    """The web addresses of links in HTML."""
    text = as_characters(data)
    finder = _LinkFinder(text)
    finder.feed(text)
    finder.close()
    return finder.places()


def xml_places(
    data: bytes, elements: Mapping[str, str], *, part: str, needed: Mapping[str, str] | None = None
) -> list[LinkPlace]:
    """The web addresses in attributes of XML: `elements` maps names of elements to that of their attribute.

    Only elements with all the attributes `needed`, by their ends, are looked at. Names are without prefixes.
    """
    text = as_characters(data)
    found = list[LinkPlace]()

    class _Listener:
        position = 0

        def start(self, tag: str, attributes: Mapping[str, str]) -> None:
            name = elements.get(tag)
            url = attributes.get(name, "").strip() if name else ""
            if not name or not url.lower().startswith(_WEB) or len(found) >= MAX_LINKS:
                return
            if any(not attributes.get(key, "").endswith(end) for key, end in (needed or {}).items()):
                return
            spans = {key.rpartition(":")[2]: span for key, span in _attributes(text, self.position)}
            if name in spans:
                start, end = spans[name]
                found.append(LinkPlace(url=url, start=start, end=end, markup=True, part=part))

        def end(self, tag: str) -> None: ...

        def text(self, text: str) -> None: ...

    listener = _Listener()

    def note(position: int) -> None:
        listener.position = position

    if not read_xml(data, listener, on_position=note):
        raise Unreadable(f"malformed XML in {part}")
    return found


def _code_spans(text: str) -> list[tuple[int, int]]:
    """Where code is, in order: between fences, and between backticks in one line."""
    spans, at, fence = list[tuple[int, int]](), 0, ""
    for found in _FENCE.finditer(text):
        if fence and found[1] != fence:
            continue
        if not fence:
            spans += [code.span() for code in _CODE.finditer(text, at, found.start())]
            fence, at = found[1], found.start()
        else:
            spans.append((at, found.end()))
            fence, at = "", found.end()
    return (
        [*spans, (at, len(text))] if fence else [*spans, *(each.span() for each in _CODE.finditer(text, at))]
    )


def _just_before(text: str, start: int) -> str:
    return text[max(0, start - 3) : start].rstrip("<")


def _trim(url: str, *, in_parentheses: bool) -> str:
    """An address without what follows it: punctuation, and a bracket that it did not open."""
    for closing, opening in ((")", "("), ("]", "[")):
        depth = 0
        for position, char in enumerate(url):
            depth += (char == opening) - (char == closing)
            if depth < 0:
                url = url[:position]
                break
    return url if in_parentheses else url.rstrip(_ENDS)


def _in_text(text: str, url: str, start: int, end: int) -> LinkPlace:
    """A link in text: its words are those in [brackets] before it, or the rest of its line."""
    opening, line = start, text.rfind("\n", max(0, start - _SIDE), start) + 1
    anchor = ""
    if _just_before(text, start).endswith("]("):
        closing = text.rindex("](", 0, start)
        opening = max(text.rfind("[", max(0, closing - MAX_FIELD), closing), 0)
        anchor = text[opening + 1 : closing]
    before = text[max(line if not anchor else 0, opening - _SIDE) : opening]
    after = text[end : end + _SIDE].partition("\n")[0]
    return LinkPlace(
        url=_decoded(url),
        start=start,
        end=end,
        anchor=_decoded(anchor),
        before=_decoded(before),
        after=_decoded(after.lstrip(")>")),
    )


def _attributes(text: str, tag: int) -> Iterator[tuple[str, tuple[int, int]]]:
    """The names of the attributes of the start tag at a position, and where their values are."""
    position = tag + 1
    while position < len(text) and text[position] not in " \t\r\n/>":
        position += 1
    while found := _ATTRIBUTE.match(text, position):
        position = found.end()
        for group in (2, 3, 4):
            if found[group] is not None:
                yield found[1], found.span(group)
        if position < len(text) and text[position] == ">":
            return


def _decoded(text: str) -> str:
    """Bytes as text: UTF-8, or else what old documents are written in."""
    data = text.encode("latin-1", "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


class _LinkFinder(HTMLParser):
    """Collects links with their words, and where each address is."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self._source = source
        self._lines = [0]
        self._lines += [found.end() for found in re.finditer("\n", source)]
        self._pieces: list[str] = []
        self._size = 0
        self._found: list[tuple[LinkPlace, int, int]] = []
        self._open: tuple[LinkPlace, int] | None = None

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag not in ("a", "area") or len(self._found) >= MAX_LINKS:
            return
        self._end_link()
        line, offset = self.getpos()
        for name, (start, end) in _attributes(self._source, self._lines[line - 1] + offset):
            if name.lower() == "href":
                url = html.unescape(_decoded(self._source[start:end])).strip()
                if url.lower().startswith(_WEB) and len(url) <= MAX_URL:
                    self._open = (LinkPlace(url=url, start=start, end=end, markup=True), self._size)
                break

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attributes)

    def handle_endtag(self, tag: str) -> None:
        if tag == "a":
            self._end_link()

    def handle_data(self, data: str) -> None:
        if self._size < MAX_TEXT:
            kept = data[: MAX_TEXT - self._size]
            self._pieces.append(kept)
            self._size += len(kept)

    def places(self) -> list[LinkPlace]:
        self._end_link()
        text = "".join(self._pieces)
        return [
            LinkPlace(
                url=place.url,
                start=place.start,
                end=place.end,
                markup=True,
                anchor=_decoded(text[start : min(end, start + MAX_FIELD)]),
                before=_decoded(text[max(0, start - _SIDE) : start]),
                after=_decoded(text[end : end + _SIDE]),
            )
            for place, start, end in self._found
        ]

    def _end_link(self) -> None:
        if self._open is not None:
            self._found.append((*self._open, self._size))
            self._open = None
