"""The local collection: saved pages, the links between them and the full-text index, behind one interface.

`add` and `remove` change pages and links in one transaction; the index follows within seconds (`commit` updates it
now). All methods block and may be called from any thread; any number of processes may open the same folder.
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

from repair.collection.database import Database
from repair.collection.index.fulltext import WEIGHTS, IndexEntry, Search
from repair.collection.index.idf import InverseFrequencies, Weights
from repair.collection.index.pending import NEW_WORDS_WAIT_S
from repair.collection.index.vectors import FIELDS as VECTOR_FIELDS
from repair.collection.index.vectors import Hashes, TermStatistics, TermVectors
from repair.collection.index.writer import IndexWriter
from repair.collection.links import LinkGraph
from repair.collection.outbox import DistrictOutbox
from repair.collection.pages import PageStore, PageSummary
from repair.collection.translations import SavedTranslations
from repair.collection.versions import HeldVersions, policy_of
from repair.errors import CollectionError
from repair.files import set_aside
from repair.model import Document, HeldCopy, HeldPage, InLink, Link, Translation
from repair.settings import CollectionSettings
from repair.text import urls

log = logging.getLogger(__name__)

DATABASE = "collection.sqlite3"
"""The file in a collection's folder that stores everything but the index."""
_SLICE = 500  # pages indexed in one batch: under two seconds of work, so that closing never waits long


@dataclass(frozen=True, slots=True, kw_only=True)
class PageAddition:
    """A page to save; `raw_digest` shows when the same bytes are seen again."""

    document: Document
    fetched_at: datetime
    copy: HeldCopy | None = None
    pinned: bool = False
    raw_digest: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundPage:
    """A saved page that matches, and its score."""

    page: PageSummary
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionStats:
    """How much is saved; `indexed` pages can be found, `pending` ones wait for the index."""

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
        self._translations = SavedTranslations(self._database)
        self._indexing = IndexWriter(directory / "index", self._database, self._pages, self._graph)
        self._rarities = InverseFrequencies(self._database)
        self.outbox = DistrictOutbox(self._database)
        """What the district has still to hear of."""
        self._added = 0

    @classmethod
    def open(cls, directory: Path, settings: CollectionSettings) -> Self:
        """Open the collection in a folder, created if missing; raises CollectionError when it cannot be read.

        Indexes some of what a killed process left pending. A damaged database is set aside and replaced by an empty
        one: a school must not lose the web because it lost its collection.
        """
        try:
            directory.mkdir(parents=True, exist_ok=True)
            collection = cls._open_or_replace(directory, settings)
        except OSError as error:
            raise CollectionError(f"{directory}: {error.strerror}") from error
        try:
            collection.index_some(_SLICE)
        except CollectionError as error:
            log.warning("index is behind the collection: %s", error)
        return collection

    @classmethod
    def _open_or_replace(cls, directory: Path, settings: CollectionSettings) -> Self:
        try:
            return cls(directory, settings)
        except CollectionError as error:
            if not isinstance(error.__cause__, sqlite3.DatabaseError) or isinstance(
                error.__cause__, sqlite3.OperationalError
            ):
                raise  # busy, full or of another version: not damaged
            aside = set_aside(directory / DATABASE)
            log.error("collection damaged (%s): moved to %s, started a new one", error, aside)
            return cls(directory, settings)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def database(self) -> Database:
        """The database, for stores that keep their tables in it."""
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
        """Save a page with its links; False when its URL is no web URL."""
        addition = PageAddition(
            document=document, fetched_at=fetched_at, copy=copy, pinned=pinned, raw_digest=raw_digest
        )
        return self.add_many((addition,)) == 1

    def add_many(self, additions: Iterable[PageAddition]) -> int:
        """Save pages with their links, all or none; returns how many had a web URL."""
        added = 0
        with self._database.write():
            for addition in additions:
                added += self._add(addition)
        self._added += added
        if self._added > self._settings.max_pages // 1000:  # counting pages takes time: not after every one
            self._added = 0
            self._trim()
        return added

    def get(self, url: str) -> HeldPage | None:
        """The page saved under a URL."""
        normal = _normal(url)
        return self._pages.get(normal) if normal else None

    def copy(self, url: str) -> HeldCopy | None:
        """The newest copy saved under a URL."""
        normal = _normal(url)
        return self._pages.copy(normal) if normal else None

    def versions(self, url: str) -> HeldVersions | None:
        """When the versions saved under a URL were fetched; None when there is none."""
        normal = _normal(url)
        return self._pages.versions.of(normal) if normal else None

    def version(self, url: str, moment: datetime) -> HeldCopy | None:
        """The version fetched in a given second."""
        normal = _normal(url)
        return self._pages.versions.at(normal, moment) if normal else None

    def holds(self, url: str) -> bool:
        """Whether a page is saved under a URL."""
        normal = _normal(url)
        return normal is not None and self._pages.number(normal) is not None

    def held_among(self, addresses: Sequence[str]) -> frozenset[str]:
        """Which of some normal URLs are saved."""
        return self._pages.held_among(addresses)

    def seen_again(self, url: str, raw_digest: bytes, *, seen_at: datetime) -> bool:
        """Record that a page was seen; True when it is saved with the same bytes, so that nothing is left to do."""
        normal = _normal(url)
        return normal is not None and self._pages.touch(normal, raw_digest, seen_at=seen_at)

    def is_pinned_with(self, url: str, raw_digest: bytes) -> bool:
        """Whether a page is pinned with the same bytes, so that importing it changes nothing."""
        normal = _normal(url)
        return normal is not None and self._pages.is_pinned_with(normal, raw_digest)

    def saved_urls(self, beginning: str, limit: int) -> tuple[str, ...]:
        """The URLs of saved pages with a prefix, in order."""
        return self._pages.saved_urls(beginning, limit)

    def remove(self, url: str) -> bool:
        """Delete a page: text, copies, links and index entry; False when it was not saved.

        Searches no longer find it. What other pages say of it stays with them.
        """
        normal = _normal(url)
        with self._database.write():
            page = self._pages.number(normal) if normal else None
            if normal is not None and page is not None:
                self._remove(page)
                self.outbox.note_removed(page, normal)
        return page is not None

    def scrub(self) -> bool:
        """Make removed content unreadable on disk too; False when other processes prevented part of it.

        This does not cover the index: see `rebuild_index`.
        """
        self._indexing.mark_rebuild_due()
        self.index_some()
        return self._database.scrub()

    def needs_index_rebuild(self) -> bool:
        """Whether the index files still contain words of removed pages."""
        return self._indexing.is_rebuild_due()

    def rebuild_index(self) -> bool:
        """Rebuild the index, so that no words of removed pages are left in it; takes long.

        False when another process writes the index, or the disk fails.
        """
        return self._indexing.rebuild()

    def search(
        self, terms: Iterable[tuple[str, float]], *, limit: int, weights: Mapping[str, float] = WEIGHTS
    ) -> tuple[FoundPage, ...]:
        """Saved pages for weighted terms (as `repair.text.words` makes them), best first."""
        hits = self._indexing.search(terms, limit=limit, weights=weights)
        page_summaries = self._pages.page_summaries([page for page, _ in hits])
        return tuple(
            FoundPage(page=page_summaries[page], score=score)
            for page, score in hits
            if page in page_summaries
        )

    def hits(
        self, terms: Iterable[tuple[str, float]], *, limit: int, weights: Mapping[str, float] = WEIGHTS
    ) -> tuple[tuple[int, float], ...]:
        """Page numbers and scores, for callers that run several queries before they load any page."""
        return self._indexing.search(terms, limit=limit, weights=weights)

    def hits_of(self, searches: Sequence[Search]) -> list[tuple[tuple[int, float], ...]]:
        """The same for several searches, in their order."""
        return [self.hits(each.terms, limit=each.limit, weights=each.weights) for each in searches]

    def page_summaries(self, pages: Sequence[int]) -> dict[int, PageSummary]:
        """What ranking needs of pages, by number; pages no longer saved are left out."""
        return self._pages.page_summaries(pages)

    def translations(self, summary: PageSummary) -> tuple[Translation, ...]:
        """The saved translations of a page, one of each language."""
        return self._translations.of(summary.page, summary.url, summary.language)

    def same(self, page: int) -> tuple[str, ...]:
        """The URLs of all pages with exactly the content of a page, its own included."""
        return self._pages.same(page)

    def numbers(self) -> tuple[int, ...]:
        """The numbers of all saved pages."""
        return self._pages.numbers()

    def page_number(self, url: str) -> int | None:
        """The number of a saved page."""
        normal = _normal(url)
        return self._pages.number(normal) if normal else None

    def page_numbers(self, addresses: Iterable[str]) -> dict[str, int]:
        """The numbers of those of some URLs that are saved."""
        numbers = ((url, self.page_number(url)) for url in addresses)
        return {url: number for url, number in numbers if number is not None}

    def indexed_page(self, page: int) -> tuple[Document, IndexEntry] | None:
        """A page with its links, and its terms by field, as another index may keep it; None once it is removed."""
        document = self._pages.document(page)
        if document is None:
            return None
        return replace(document, links=self._graph.outlinks(document.url)), self._indexing.entry(page)

    def vectors(self, pages: Sequence[int]) -> TermVectors:
        """The term vectors of pages, in their order."""
        return self._indexing.vectors.get(pages)

    def packed_vectors(self, pages: Sequence[int]) -> dict[int, bytes]:
        """The same as stored, by number, for a caller that joins them with others."""
        return self._indexing.vectors.packed(pages)

    def statistics(
        self, terms: Hashes, fields: Sequence[int] = tuple(range(len(VECTOR_FIELDS)))
    ) -> TermStatistics:
        """How common terms are, by field, and the totals."""
        return self._indexing.vectors.statistics(terms, fields)

    def rarities(self) -> Weights:
        """The idf of all terms, by the buckets of `repair.collection.index.idf`."""
        return self._rarities.weights(self._indexing.size())

    def document_frequency(self, term: str, name: str = "body") -> int:
        """How many pages have a term in a field."""
        return self._indexing.document_frequency(term, name)

    def similar(self, term: str, *, limit: int) -> tuple[int, ...]:
        """Numbers of pages that have a term like this one, which may be misspelt."""
        return self._indexing.similar(term, limit=limit)

    def size(self) -> int:
        """How many pages are indexed."""
        return self._indexing.size()

    def inlinks(self, target_url: str, limit: int = 100) -> tuple[InLink, ...]:
        """Links of saved pages that lead to a URL, saved or not."""
        normal = _normal(target_url)
        return self._graph.inlinks(normal, limit) if normal else ()

    def links_to(self, pages: Sequence[int], limit: int = 50_000) -> list[tuple[int, int]]:
        """Source and target of links in running text to saved pages, by number, each pair once."""
        return self._graph.links_to(pages, limit)

    def addresses(self, beginning: str, limit: int) -> tuple[str, ...]:
        """Known URLs with a prefix, saved or linked to, sampled evenly."""
        return self._graph.addresses(beginning, limit)

    def outlinks(self, source_url: str) -> tuple[Link, ...]:
        """Links of a saved page."""
        normal = _normal(source_url)
        return self._graph.outlinks(normal) if normal else ()

    def link_between(self, source_url: str, target_url: str) -> Link | None:
        """The most informative link from a saved page to a URL."""
        source, target = _normal(source_url), _normal(target_url)
        return self._graph.link_between(source, target) if source and target else None

    def page_count(self) -> int:
        """How many pages are saved; faster than `stats`, which counts links too."""
        return self._pages.counts()[0]

    def stats(self) -> CollectionStats:
        """How much is saved."""
        pages, pinned, copies = self._pages.counts()
        return CollectionStats(
            pages=pages,
            pinned=pinned,
            copies=copies,
            links=self._graph.count(),
            indexed=self._indexing.size(),
            pending=self._indexing.pending.count(),
        )

    def index_some(self, limit: int = _SLICE, *, patience_s: float = 0.0) -> int:
        """Index some of the pages that are due, if no other process does; returns how many were.

        What is new of pages that the index has already may wait `patience_s` longer.
        """
        return self._indexing.catch_up(limit=limit, now=time.time(), patience_s=patience_s)

    def leave_index(self) -> None:
        """Let another process write the index from now on; searching goes on."""
        self._indexing.leave()

    def commit(self) -> None:
        """Index all that was added and make it safe from a power cut.

        While another process writes the index, the indexing is left to it, which takes a few seconds more.
        """
        self._indexing.catch_up_all()
        self._database.settle()

    def close(self) -> None:
        """Close the folder; the next process that opens it indexes what is still pending."""
        self._indexing.close()
        self._database.close()

    def _add(self, addition: PageAddition) -> bool:
        document = _normalise(addition.document, self._settings.max_links)
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
        self._translations.replace(page, document.url, document.translations)
        now = time.time()
        self._indexing.pending.add((page,), due_at=now)
        self._mark_linked_pending(self._graph.replace(page, document.links) - {page}, now)
        return True

    def _remove(self, page: int) -> None:
        now = time.time()
        linked = self._graph.remove(page)
        self._translations.remove(page)
        self._pages.remove(page)
        self._indexing.pending.add((page,), due_at=now)
        self._mark_linked_pending(linked - {page}, now)

    def _mark_linked_pending(self, targets: frozenset[int], now: float) -> None:
        saved = self._pages.saved_among(tuple(targets))
        self._indexing.pending.add(saved, due_at=now + NEW_WORDS_WAIT_S)

    def _trim(self) -> None:
        for page in self._pages.beyond(self._settings.max_pages):
            with self._database.write():
                self._remove(page)


def _normal(url: str) -> str | None:
    """The normal form of a URL; None when it is no web URL."""
    try:
        return urls.normal(url)
    except ValueError:
        return None


def _normalise(document: Document, max_links: int) -> Document | None:
    url = _normal(document.url)
    if url is None:
        return None
    links = tuple(
        Link(
            target_url=target,
            anchor=_without_surrogates(link.anchor),
            before=_without_surrogates(link.before),
            after=_without_surrogates(link.after),
            nav=link.nav,
        )
        for link in document.links[:max_links]
        if (target := _normal(link.target_url)) is not None
    )
    return replace(
        document,
        url=url,
        title=_without_surrogates(document.title),
        text=_without_surrogates(document.text),
        description=_without_surrogates(document.description),
        canonical_url=_normal(document.canonical_url) if document.canonical_url else None,
        links=links,
    )


def _without_surrogates(text: str) -> str:
    """The text without lone surrogates, which SQLite rejects."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
