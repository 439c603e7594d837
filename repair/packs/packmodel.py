"""A pack: pages with their pictures, the topics they belong to and the links between them, and who made it.

Besides what every reader of the format knows, a pack has three lists of our own, as JSON: `HEADER` (the pack, its
origins and topics), `FILES` (one page or file a line, with its topics and origin) and `LINKS` (the link graph, one
link a line, as in a collection folder). All that comes from a file is hostile: sizes are bounded, and texts are made
printable.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from repair.crawling.topics import MAX_NAME, Topic
from repair.model import Link
from repair.text import urls

VERSION = 1
HEADER, FILES, LINKS = "pack.json", "files.jsonl", "links.jsonl"
MAX_LIST_BYTES = 64 * 1024**2
"""Of one of our lists, unpacked."""
_MAX_PAGES = 200_000
_MAX_TOPICS = 1_000
_MAX_ORIGINS = 1_000
_MAX_NAME = 80
_MAX_NOTE = 2_000

Probability = Annotated[float, Meta(ge=0.0, le=1.0)]


@dataclass(frozen=True, slots=True, kw_only=True)
class PackOrigin:
    """Who made a pack, and what they say of the rights in its pages (`licence`, free text)."""

    title: str
    sender: str
    licence: str
    created_at: datetime

    def printable(self) -> "PackOrigin":
        """The same with texts that can be shown on one line each."""
        return PackOrigin(
            title=_on_one_line(self.title, _MAX_NAME) or "untitled",
            sender=_on_one_line(self.sender, _MAX_NAME) or "unknown",
            licence=_on_one_line(self.licence, _MAX_NOTE),
            created_at=self.created_at if self.created_at.tzinfo else self.created_at.replace(tzinfo=UTC),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PackItem:
    """A page or a file of a page, without content coding. `topics` are probabilities by name; a page that came in a
    pack has that `origin`."""

    url: str
    content_type: str
    body: bytes
    fetched_at: datetime
    title: str = ""
    language: str = ""
    is_page: bool = False
    links: tuple[Link, ...] = ()
    topics: tuple[tuple[str, float], ...] = ()
    origin: PackOrigin | None = None


class PackedTopic(Struct, kw_only=True, frozen=True, omit_defaults=True):
    """A topic without what only concerns the sender: budget, hours, groups."""

    name: Annotated[str, Meta(min_length=1, max_length=MAX_NAME)]
    subtopics: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    seeds: tuple[str, ...] = ()
    language: str = ""

    @classmethod
    def of(cls, topic: Topic) -> "PackedTopic":
        """A topic as it is packed."""
        return cls(
            name=topic.name,
            subtopics=topic.subtopics,
            words=topic.words,
            seeds=topic.seeds,
            language=topic.language,
        )

    def topic(self) -> Topic:
        """The topic; raises InvalidTopic."""
        return Topic(**msgspec.structs.asdict(self))


class PackedPage(Struct, kw_only=True, frozen=True, omit_defaults=True):
    """A line of the list of pages and files. `origin` 0 is the pack itself; `path` is its place in a ZIM."""

    url: Annotated[str, Meta(max_length=urls.MAX_URL)]
    fetched: datetime
    type: Annotated[str, Meta(max_length=200)] = "text/html"
    path: str = ""
    origin: Annotated[int, Meta(ge=0, lt=_MAX_ORIGINS)] = 0
    topics: dict[str, Probability] = {}


class _Header(Struct, kw_only=True):
    version: int
    origins: Annotated[list[PackOrigin], Meta(min_length=1, max_length=_MAX_ORIGINS)]
    topics: Annotated[list[PackedTopic], Meta(max_length=_MAX_TOPICS)] = []


@dataclass(frozen=True, slots=True, kw_only=True)
class PackManifest:
    """What a pack says of itself; the first of the `origins` is its own. `pages` are by address."""

    origins: tuple[PackOrigin, ...]
    topics: tuple[PackedTopic, ...] = ()
    pages: dict[str, PackedPage]

    def origin_of(self, url: str) -> PackOrigin:
        """Where a page comes from."""
        page = self.pages.get(url)
        number = page.origin if page is not None else 0
        return self.origins[number] if number < len(self.origins) else self.origins[0]


class ManifestBuilder:
    """Collects our lists while a pack is written."""

    def __init__(self, origin: PackOrigin, topics: Iterable[Topic]) -> None:
        self._origins = [origin]
        self._topics = [PackedTopic.of(topic) for topic in topics]

    def page_line(self, item: PackItem, *, path: str = "") -> bytes:
        """The line of a page or file."""
        origin = item.origin or self._origins[0]
        if origin not in self._origins and len(self._origins) < _MAX_ORIGINS:
            self._origins.append(origin)
        page = PackedPage(
            url=item.url,
            fetched=item.fetched_at,
            type=item.content_type[:200],
            path=path,
            origin=self._origins.index(origin) if origin in self._origins else 0,
            topics={name: round(probability, 3) for name, probability in item.topics},
        )
        return msgspec.json.encode(page) + b"\n"

    def header(self) -> bytes:
        """The header, once all pages are known."""
        return msgspec.json.encode(_Header(version=VERSION, origins=self._origins, topics=self._topics))


def link_lines(item: PackItem) -> Iterator[bytes]:
    """The lines of a page's links."""
    for link in item.links:
        yield msgspec.json.encode(_link_line(item.url, link)) + b"\n"


def _link_line(source_url: str, link: Link) -> dict[str, Any]:
    return {
        "source_url": source_url,
        "target_url": link.target_url,
        "anchor": link.anchor,
        "context_before": link.before,
        "context_after": link.after,
        "nav": link.nav,
    }


def read_manifest(header: bytes, lines: bytes) -> PackManifest:
    """What our lists say; raises ValueError when they are not ours, or not as they should be."""
    if max(len(header), len(lines)) > MAX_LIST_BYTES:
        raise ValueError(f"expected at most {MAX_LIST_BYTES} bytes of lists")
    found = msgspec.json.decode(header, type=_Header)
    if found.version != VERSION:
        raise ValueError(f"expected version {VERSION} of {HEADER}, got {found.version}")
    decoder = msgspec.json.Decoder(PackedPage)
    pages: dict[str, PackedPage] = {}
    for number, line in enumerate(lines.splitlines(), 1):
        if number > _MAX_PAGES:
            raise ValueError(f"expected at most {_MAX_PAGES} lines of {FILES}")
        page = decoder.decode(line)
        pages[urls.normal(page.url)] = page
    return PackManifest(
        origins=tuple(origin.printable() for origin in found.origins), topics=tuple(found.topics), pages=pages
    )


def _on_one_line(text: str, most: int) -> str:
    return " ".join("".join(char if char.isprintable() else " " for char in text[: most * 2]).split())[:most]
