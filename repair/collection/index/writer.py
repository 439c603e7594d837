"""The index writer: which process writes the index, which pages are pending, and when the index is rebuilt.

Of the processes that have a collection open, one has the writer's lock; the others only read the index, and pages
they add wait in `pending` for the writer. The kernel releases the lock when its process dies, however it dies; the
next process to try gets it. Each index has a directory of its own, named in the database; a damaged one, or one of
another format, is replaced by a new, empty one with every page pending, and readers follow the name.
"""

import logging
import os
import secrets
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

from repair.collection.database import Database
from repair.collection.index.fulltext import (
    FORMAT,
    WEIGHTS,
    FullTextIndex,
    IndexDamaged,
    IndexEntry,
    entry_of,
)
from repair.collection.index.pending import PendingNote, PendingPages
from repair.collection.index.vectors import VectorStore, pack
from repair.collection.links import LinkGraph
from repair.collection.pages import PageStore
from repair.errors import CollectionError
from repair.locks import lock_alone

T = TypeVar("T")

log = logging.getLogger(__name__)

_CHECK_EVERY_S = 0.5  # how often a reading process checks whether the writer has committed
_SPACE_BYTES = 64 * 1024**2  # with less, a failed write is the disk's fault, and a new index would not help
_BULK = 30_000  # pages in one commit when nobody waits: some 90 MB of vectors
_REBUILD_DUE_KEY = "index_owed"
_LINKED = 500  # more URLs that a page links to say little of it
_ANCHORS = 200  # more links to a page add nothing to its names


class IndexWriter:
    """The index of a collection, kept up to date by the process that has the lock."""

    def __init__(self, directory: Path, database: Database, pages: PageStore, graph: LinkGraph) -> None:
        self._directory = directory
        self._database = database
        self._pages = pages
        self._graph = graph
        self.pending = PendingPages(database)
        self.vectors = VectorStore(database)
        self._index: FullTextIndex | None = None
        self._lock_file: int | None = None
        self._writing = threading.RLock()  # locked while indexing, which may take long; never by a search
        self._switching = threading.RLock()  # locked while the index is replaced
        self._looked_at = 0.0
        self._renewing = threading.Lock()
        self._indexed_since: set[int] | None = None  # pages indexed since a rebuild began
        self._closing = threading.Event()
        self._directory.mkdir(parents=True, exist_ok=True)

    def search(
        self, terms: Iterable[tuple[str, float]], *, limit: int, weights: Mapping[str, float] = WEIGHTS
    ) -> tuple[tuple[int, float], ...]:
        """Page numbers and scores, best first; nothing while a damaged index is rebuilt."""
        found = self._query_index(lambda index: index.search(terms, limit=limit, weights=weights))
        return found if found is not None else ()

    def similar(self, term: str, *, limit: int) -> tuple[int, ...]:
        """Numbers of pages that have a term like this one; nothing while there is no index."""
        return self._query_index(lambda index: index.similar(term, limit=limit)) or ()

    def document_frequency(self, term: str, name: str) -> int:
        """How many pages have a term in a field; 0 while there is no index."""
        return self._query_index(lambda index: index.document_frequency(term, name)) or 0

    def size(self) -> int:
        """How many pages are indexed; 0 while there is no index."""
        return self._query_index(lambda index: index.size()) or 0

    def catch_up(self, *, limit: int, now: float | None = None, patience_s: float = 0.0) -> int:
        """Index up to `limit` pending pages, with `now` only those due; returns how many.

        Pages that the index has already wait `patience_s` longer. 0 when another process writes.
        """
        with self._writing:
            index = self._writable_index()
            notes = self.pending.due(limit=limit, now=now, patience_s=patience_s) if index else ()
            if index is None or not notes:
                return 0
            for recover in (self._reopen, self._start_empty, None):
                try:
                    vectors = self._index_pages(index, notes)
                    break
                except IndexDamaged as error:
                    if recover is None or shutil.disk_usage(self._directory).free < _SPACE_BYTES:
                        raise
                    log.warning("index: write failed: %s", error)
                    index = recover()
            self.vectors.put(vectors)
            self.pending.mark_indexed(notes)
            if self._indexed_since is not None:
                self._indexed_since.update(note.page for note in notes)
            return len(notes)

    def catch_up_all(self) -> None:
        """Index every pending page, due or not, in as few commits as memory allows.

        Nothing when another process writes.

        Each commit makes a segment that every search has to visit: 4,000 pages in eight segments cost a search four
        times as much as in one. And the counts of a term are written once a commit, not once in 500 pages.
        """
        with self._writing:
            while self.catch_up(limit=_BULK):
                pass
            if self._lock_file is not None and self._index is not None:
                self._index.settle()

    def mark_rebuild_due(self) -> None:
        """Record that the index has words of a removed page, until it is rebuilt."""
        with self._database.write() as connection:
            connection.execute("INSERT OR REPLACE INTO meta VALUES (?, '1')", (_REBUILD_DUE_KEY,))

    def is_rebuild_due(self) -> bool:
        """Whether the index should be rebuilt because of a removed page."""
        with self._database.read() as connection:
            return (
                connection.execute("SELECT 1 FROM meta WHERE key = ?", (_REBUILD_DUE_KEY,)).fetchone()
                is not None
            )

    def rebuild(self) -> bool:
        """Build another index beside the one in use, then switch; False when another process writes, or it fails.

        Searches no longer find a removed page, but its words stay in the files until tantivy merges them, and it
        cannot be made to. Searching and indexing go on meanwhile.
        """
        with self._renewing:
            with self._writing:
                if self._writable_index() is None:
                    return False
                self._indexed_since = set()
            try:
                fresh = FullTextIndex(self._directory / _new_name(), create=True)
                fresh.update(self._entries(self._pages.numbers()))
                with self._writing:
                    fresh.update(self._entries(self._indexed_since))
                    fresh.settle()
                    self._switch_to(fresh)
            except CollectionError as error:
                log.warning("index: rebuild failed: %s", error)
                return False
            finally:
                self._indexed_since = None
        return True

    def _entries(self, pages: Iterable[int]) -> Iterator[IndexEntry]:
        for page in pages:
            if self._closing.is_set():
                raise CollectionError("the collection is being closed")
            yield self.entry(page)

    def close(self) -> None:
        """Release the lock; the next writer indexes the pages still pending."""
        self._closing.set()
        self._release()

    def leave(self) -> None:
        """Let another process write the index; this one takes the lock again when it indexes and nobody has it."""
        with self._writing:
            if self._lock_file is not None:
                self._release()

    def _release(self) -> None:
        with self._writing, self._switching:
            if self._index is not None:
                self._index.close()
                self._index = None
            if self._lock_file is not None:
                os.close(self._lock_file)
                self._lock_file = None

    def _query_index(self, question: Callable[[FullTextIndex], T]) -> T | None:
        """The index's answer; None when there is no index, or it is damaged, which triggers a rebuild."""
        index = self._current_index()
        if index is None:
            return None
        try:
            return question(index)
        except IndexDamaged as error:
            log.error("index damaged, will be rebuilt: %s", error)
            self._abandon(index)
            return None

    def _index_pages(self, index: FullTextIndex, notes: Iterable[PendingNote]) -> dict[int, bytes | None]:
        """Index pages and return their vectors. One page at a time: a large import must fit in memory."""
        vectors: dict[int, bytes | None] = {}

        def entries() -> Iterator[IndexEntry]:
            for note in notes:
                entry = self.entry(note.page)
                vectors[note.page] = pack(entry)
                yield entry

        index.update(entries())
        return vectors

    def entry(self, page: int) -> IndexEntry:
        """The index entry of a page as it is saved now; without fields when it is not saved."""
        document = self._pages.document(page)
        if document is None:
            return IndexEntry(page=page)
        try:
            linked = self._graph.linked_urls(page, _LINKED)
            return entry_of(page, document, self._graph.anchors(page, _ANCHORS), linked)
        except Exception:  # one odd page must not keep all others out of the index
            log.exception("index: cannot index %s", document.url)
            return IndexEntry(page=page)

    def _current_index(self) -> FullTextIndex | None:
        """The index as last committed; a reading process looks for a newer one now and then."""
        if self._lock_file is not None:
            return self._index
        with self._switching:
            if self._index and time.monotonic() - self._looked_at < _CHECK_EVERY_S:
                return self._index
            self._looked_at = time.monotonic()
            name = self._name()
            try:
                if self._index is not None and self._index.directory.name == name:
                    self._index.reload()
                else:
                    self._index = FullTextIndex(self._directory / name) if name else None
            except IndexDamaged as error:
                log.warning("index: none to search: %s", error)
                self._index = None
            return self._index

    def _writable_index(self) -> FullTextIndex | None:
        """The index to write to; takes the lock when it is free, None when another process has it."""
        if self._lock_file is not None and self._index is not None:
            return self._index
        with self._switching:
            if self._lock_file is None and not self._lock():
                return None
            return self._reopen()

    def _reopen(self) -> FullTextIndex:
        """Open the index named in the database, or a new one when it is unfit; the caller has the lock."""
        with self._switching:
            if self._index is not None:
                self._index.close()
            name = self._name()
            try:
                if name.startswith(f"{FORMAT}-"):
                    index = FullTextIndex(self._directory / name)
                    if self._is_plausible(index):
                        self._index = index
                        return index
            except IndexDamaged as error:
                log.warning("index: rebuilding: %s", error)
            return self._start_empty()

    def _start_empty(self) -> FullTextIndex:
        """Start an empty index and mark every page pending; the caller has the lock."""
        index = FullTextIndex(self._directory / _new_name(), create=True)
        self._switch_to(index, note_all=True)
        return index

    def _switch_to(self, index: FullTextIndex, *, note_all: bool = False) -> None:
        """Switch to another index and delete all others; the caller has the lock.

        Its name is written first: on a full disk that fails, and what went into a nameless one would be lost.
        """
        with self._database.write() as connection:
            connection.execute("INSERT OR REPLACE INTO meta VALUES ('index', ?)", (index.directory.name,))
            connection.execute("DELETE FROM meta WHERE key = ?", (_REBUILD_DUE_KEY,))
            if note_all:
                self.pending.add_all()
        with self._switching:
            if self._index is not None:
                self._index.close()
            self._index = index
        for other in self._directory.iterdir():
            if other.is_dir() and other != index.directory:
                shutil.rmtree(other, ignore_errors=True)

    def _abandon(self, index: FullTextIndex) -> None:
        """Stop using a damaged index; the writer builds another, a reading process waits for it."""
        with self._writing, self._switching:
            if self._index is not index:
                return
            if self._lock_file is not None or self._lock():
                self._start_empty()
            else:
                self._index = None

    def _lock(self) -> bool:
        self._lock_file = lock_alone(self._directory / "writer.lock")
        return self._lock_file is not None

    def _is_plausible(self, index: FullTextIndex) -> bool:
        """Whether the index has about as many pages as it should; one from an old backup has not."""
        pending, (pages, _, _) = self.pending.count(), self._pages.counts()
        return pages - pending <= index.size() <= pages + pending

    def _name(self) -> str:
        with self._database.read() as connection:
            row = connection.execute("SELECT value FROM meta WHERE key = 'index'").fetchone()
        return str(row[0]) if row else ""


def _new_name() -> str:
    return f"{FORMAT}-{secrets.token_hex(8)}"
