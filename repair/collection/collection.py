"""The local collection: one door to the pages held, the links between them and the index over them.

Everything goes in by `add` and out by `remove`, in one transaction over pages and links; the index follows
within seconds (`commit` makes it follow now). All methods block and may be called from any thread; any number of
processes may have the same folder open.
"""

import logging
import sqlite3
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from repair import urls
from repair.database import Database
from repair.errors import CollectionError
from repair.files import set_aside
from repair.graph import LinkGraph
from repair.index import WEIGHTS
from repair.indexing import Indexing
from repair.model import Document, HeldCopy, HeldPage, InLink, Link
from repair.pages import Brief, PageStore
from repair.pending import NEW_WORDS_WAIT_S
from repair.rarity import Rarities, Weights
from repair.settings import CollectionSettings
from repair.vectors import FIELDS as VECTOR_FIELDS
from repair.vectors import Hashes, Statistics, Vectors
from repair.versions import HeldVersions, policy_of

log = logging.getLogger(__name__)

DATABASE = "collection.sqlite3"
"""The file in a collection's folder that holds everything but the index."""
_SLICE = 500  # pages indexed in one go: under two seconds of work, so that closing never waits long


@dataclass(frozen=True, slots=True, kw_only=True)
class Addition:
    """A page to be held; `raw_digest` tells when the same bytes come by again."""

    document: Document
    fetched_at: datetime
    copy: HeldCopy | None = None
    pinned: bool = False
    raw_digest: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A held page that matches, and how well."""

    page: Brief
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionStats:
    """How much is held; `indexed` pages can be found, `pending` ones will be."""

    pages: int
    pinned: int
    copies: int
    links: int
    indexed: int
    pending: int


class Collection:
    """The pages, links and index in one folder."""

    def __init__(self, directory: Path, settings: CollectionSettings) -> None:
        self._settings = settings
        self._database = Database(directory / DATABASE)
        self._pages = PageStore(self._database, policy_of(settings))
        self._graph = LinkGraph(self._database)
        self._indexing = Indexing(directory / "index", self._database, self._pages, self._graph)
        self._rarities = Rarities(self._database)
        self._added = 0

    @classmethod
    def open(cls, directory: Path, settings: CollectionSettings) -> Self:
        """Open the collection in a folder, made if need be; raises CollectionError when it cannot be read.

        What a killed process left unindexed is taken up, as far as that is quick. A damaged database is set
        aside and a new one begun: a school must not lose the web because it lost its collection.
        """
        try:
            directory.mkdir(parents=True, exist_ok=True)
            collection = cls._begun(directory, settings)
        except OSError as error:
            raise CollectionError(f"{directory}: {error.strerror}") from error
        try:
            collection.index_some(_SLICE)
        except CollectionError as error:
            log.warning("the index is behind: %s", error)
        return collection

    @classmethod
    def _begun(cls, directory: Path, settings: CollectionSettings) -> Self:
        try:
            return cls(directory, settings)
        except CollectionError as error:
            if not isinstance(error.__cause__, sqlite3.DatabaseError) or isinstance(
                error.__cause__, sqlite3.OperationalError
            ):
                raise  # busy, full or of another version: not damaged
            aside = set_aside(directory / DATABASE)
            log.error(
                "the collection was damaged (%s); it lies in %s now, and an empty one is begun", error, aside
            )
            return cls(directory, settings)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def database(self) -> Database:
        """Where all of it is kept; for who keeps more beside it."""
        return self._database

    def add(
        self,
        document: Document,
        *,
        fetched_at: datetime,
        copy: HeldCopy | None = None,
        pinned: bool = False,
        raw_digest: bytes = b"",
    ) -> bool:
        """Hold a page with its links; False when its URL is not one of the web."""
        addition = Addition(
            document=document, fetched_at=fetched_at, copy=copy, pinned=pinned, raw_digest=raw_digest
        )
        return self.add_many((addition,)) == 1

    def add_many(self, additions: Iterable[Addition]) -> int:
        """Hold pages with their links, all or none; how many had a URL of the web."""
        added = 0
        with self._database.write():
            for addition in additions:
                added += self._add(addition)
        self._added += added
        if self._added > self._settings.max_pages // 1000:  # counting pages is not free: not after every one
            self._added = 0
            self._trim()
        return added

    def get(self, url: str) -> HeldPage | None:
        """What we hold under a URL."""
        normal = _normal(url)
        return self._pages.get(normal) if normal else None

    def copy(self, url: str) -> HeldCopy | None:
        """The newest representation we kept under a URL."""
        normal = _normal(url)
        return self._pages.copy(normal) if normal else None

    def versions(self, url: str) -> HeldVersions | None:
        """When the versions kept under a URL were fetched; None when there is none."""
        normal = _normal(url)
        return self._pages.versions.of(normal) if normal else None

    def version(self, url: str, moment: datetime) -> HeldCopy | None:
        """The version that was fetched in a second."""
        normal = _normal(url)
        return self._pages.versions.at(normal, moment) if normal else None

    def holds(self, url: str) -> bool:
        """Whether a page is held under a URL."""
        normal = _normal(url)
        return normal is not None and self._pages.number(normal) is not None

    def seen_again(self, url: str, raw_digest: bytes, *, seen_at: datetime) -> bool:
        """Note that a page came by; True when it is held and its bytes are the same, so there is nothing to do."""
        normal = _normal(url)
        return normal is not None and self._pages.touch(normal, raw_digest, seen_at=seen_at)

    def remove(self, url: str) -> bool:
        """Forget a page: text, copies, links and index entry; False when it was not held.

        It is not found from this moment on. What other pages say of it stays with them.
        """
        normal = _normal(url)
        with self._database.write():
            page = self._pages.number(normal) if normal else None
            if page is not None:
                self._remove(page)
        return page is not None

    def scrub(self) -> bool:
        """Make what was removed unreadable on disk as well; False when others kept us from doing all of it.

        The index is another matter: see `renew_index`.
        """
        self._indexing.owe()
        self.index_some()
        return self._database.scrub()

    def index_is_owed(self) -> bool:
        """Whether words of removed pages are left in the index."""
        return self._indexing.is_owed()

    def renew_index(self) -> bool:
        """Make the index anew, so that not even words of removed pages are left in it; takes long.

        False when another process writes the index, or the disk fails.
        """
        return self._indexing.renew()

    def search(
        self, terms: Iterable[tuple[str, float]], *, limit: int, weights: Mapping[str, float] = WEIGHTS
    ) -> tuple[Found, ...]:
        """Held pages for weighted terms (as `repair.words` makes them), best first."""
        hits = self._indexing.search(terms, limit=limit, weights=weights)
        briefs = self._pages.briefs([page for page, _ in hits])
        return tuple(Found(page=briefs[page], score=score) for page, score in hits if page in briefs)

    def hits(
        self, terms: Iterable[tuple[str, float]], *, limit: int, weights: Mapping[str, float] = WEIGHTS
    ) -> tuple[tuple[int, float], ...]:
        """The same as numbers of pages and scores, for who asks in many ways before looking at any page."""
        return self._indexing.search(terms, limit=limit, weights=weights)

    def briefs(self, pages: Sequence[int]) -> dict[int, Brief]:
        """What ranking needs of pages, by number; those no longer held are left out."""
        return self._pages.briefs(pages)

    def same(self, page: int) -> tuple[str, ...]:
        """The addresses of the pages that say exactly what a page says, its own too."""
        return self._pages.same(page)

    def numbers(self) -> tuple[int, ...]:
        """The numbers of all held pages."""
        return self._pages.numbers()

    def page_number(self, url: str) -> int | None:
        """The number of a held page."""
        normal = _normal(url)
        return self._pages.number(normal) if normal else None

    def vectors(self, pages: Sequence[int]) -> Vectors:
        """The term vectors of pages, in their order."""
        return self._indexing.vectors.get(pages)

    def statistics(
        self, terms: Hashes, fields: Sequence[int] = tuple(range(len(VECTOR_FIELDS)))
    ) -> Statistics:
        """How common terms are, by field, and how much there is in all."""
        return self._indexing.vectors.statistics(terms, fields)

    def rarities(self) -> Weights:
        """How rare all terms are, by the buckets of `repair.rarity`."""
        return self._rarities.weights(self._indexing.size())

    def document_frequency(self, term: str, name: str = "body") -> int:
        """In how many pages a field has a term."""
        return self._indexing.document_frequency(term, name)

    def size(self) -> int:
        """How many pages can be found."""
        return self._indexing.size()

    def inlinks(self, target_url: str, limit: int = 100) -> tuple[InLink, ...]:
        """Links of held pages that lead to a URL, held or not."""
        normal = _normal(target_url)
        return self._graph.inlinks(normal, limit) if normal else ()

    def addresses(self, beginning: str, limit: int) -> tuple[str, ...]:
        """Known addresses with a beginning, held or linked to, evenly out of all there are."""
        return self._graph.addresses(beginning, limit)

    def outlinks(self, source_url: str) -> tuple[Link, ...]:
        """Links of a held page."""
        normal = _normal(source_url)
        return self._graph.outlinks(normal) if normal else ()

    def link_between(self, source_url: str, target_url: str) -> Link | None:
        """The most telling link from a held page to a URL."""
        source, target = _normal(source_url), _normal(target_url)
        return self._graph.link_between(source, target) if source and target else None

    def page_count(self) -> int:
        """How many pages are held; quicker than `stats`, which counts links too."""
        return self._pages.counts()[0]

    def stats(self) -> CollectionStats:
        """How much is held."""
        pages, pinned, copies = self._pages.counts()
        return CollectionStats(
            pages=pages,
            pinned=pinned,
            copies=copies,
            links=self._graph.count(),
            indexed=self._indexing.size(),
            pending=self._indexing.pending.count(),
        )

    def index_some(self, limit: int = _SLICE) -> int:
        """Index some of the pages that are due, if no other process does; how many were."""
        return self._indexing.catch_up(limit=limit, now=time.time())

    def commit(self) -> None:
        """Make all that was added findable and safe from a power cut.

        While another process writes the index this leaves the indexing to it: it takes a few seconds more.
        """
        self._indexing.catch_up_all()
        self._database.settle()

    def close(self) -> None:
        """Let go of the folder; what is not indexed yet will be by whoever opens it next."""
        self._indexing.close()
        self._database.close()

    def _add(self, addition: Addition) -> bool:
        document = _normalised(addition.document, self._settings.max_links)
        if document is None:
            return False
        copy = addition.copy if self._settings.keep_copies else None
        page = self._pages.put(
            document,
            fetched_at=addition.fetched_at,
            seen_at=addition.fetched_at,
            copy=copy,
            pinned=addition.pinned,
            raw_digest=addition.raw_digest,
        )
        now = time.time()
        self._indexing.pending.add((page,), due_at=now)
        self._note_linked(self._graph.replace(page, document.links) - {page}, now)
        return True

    def _remove(self, page: int) -> None:
        now = time.time()
        linked = self._graph.remove(page)
        self._pages.remove(page)
        self._indexing.pending.add((page,), due_at=now)
        self._note_linked(linked - {page}, now)

    def _note_linked(self, targets: frozenset[int], now: float) -> None:
        held = self._pages.briefs(tuple(targets))
        self._indexing.pending.add(held, due_at=now + NEW_WORDS_WAIT_S)

    def _trim(self) -> None:
        for page in self._pages.beyond(self._settings.max_pages):
            with self._database.write():
                self._remove(page)


def _normal(url: str) -> str | None:
    """The form under which a URL is held; None when it is not one of the web."""
    try:
        return urls.normal(url)
    except ValueError:
        return None


def _normalised(document: Document, max_links: int) -> Document | None:
    url = _normal(document.url)
    if url is None:
        return None
    links = tuple(
        Link(
            target_url=target,
            anchor=_sound(link.anchor),
            before=_sound(link.before),
            after=_sound(link.after),
            nav=link.nav,
        )
        for link in document.links[:max_links]
        if (target := _normal(link.target_url)) is not None
    )
    return replace(
        document,
        url=url,
        title=_sound(document.title),
        text=_sound(document.text),
        description=_sound(document.description),
        canonical_url=_normal(document.canonical_url) if document.canonical_url else None,
        links=links,
    )


def _sound(text: str) -> str:
    """The text without halves of surrogate pairs, which no database takes."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
