"""Keeping the index up with the pages: who writes, what is still to be done, and when all is made anew.

Of the processes that have a collection open, one holds the writer's lock; the others only read the index, and what
they add waits in `pending` until the writer comes by. The lock is the kernel's: when its holder dies, however, the
next process to try has it. Each index lives in a directory of its own, named in the database; one that is damaged or
of another format is left for a new, empty one with every page noted as pending, and readers follow the name.
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

from repair.database import Database
from repair.errors import CollectionError
from repair.graph import LinkGraph
from repair.index import FORMAT, WEIGHTS, Entry, Index, IndexDamaged, entry_of
from repair.locks import lock_alone
from repair.pages import PageStore
from repair.pending import Note, Pending
from repair.vectors import VectorStore, packed

T = TypeVar("T")

log = logging.getLogger(__name__)

_LOOK_AGAIN_S = 0.5  # how often a reader looks whether the writer has committed
_SPACE_BYTES = 64 * 1024**2  # with less, a failed write is the disk's fault, and a new index would not help
_BULK = 30_000  # pages in one commit when nobody waits: some 90 MB of vectors
_OWED = "index_owed"
_LINKED = 500  # addresses that a page links to beyond this say little of it
_ANCHORS = 200  # links into a page beyond this add nothing to what it is called


class Indexing:
    """The index of a collection, kept up with its pages by whichever process holds the lock."""

    def __init__(self, directory: Path, database: Database, pages: PageStore, graph: LinkGraph) -> None:
        self._directory = directory
        self._database = database
        self._pages = pages
        self._graph = graph
        self.pending = Pending(database)
        self.vectors = VectorStore(database)
        self._index: Index | None = None
        self._lock_file: int | None = None
        self._writing = threading.RLock()  # held while indexing, which may take long; never by a search
        self._choosing = threading.RLock()  # held while another index is chosen
        self._looked_at = 0.0
        self._renewing = threading.Lock()
        self._meanwhile: set[int] | None = None  # pages indexed since a new index was begun
        self._closing = threading.Event()
        self._directory.mkdir(parents=True, exist_ok=True)

    def search(
        self, terms: Iterable[tuple[str, float]], *, limit: int, weights: Mapping[str, float] = WEIGHTS
    ) -> tuple[tuple[int, float], ...]:
        """Page numbers and scores, best first; nothing while the index is damaged and being made anew."""
        found = self._asked(lambda index: index.search(terms, limit=limit, weights=weights))
        return found if found is not None else ()

    def document_frequency(self, term: str, name: str) -> int:
        """In how many pages a field has a term; 0 while there is no index."""
        return self._asked(lambda index: index.document_frequency(term, name)) or 0

    def size(self) -> int:
        """How many pages can be found; 0 while there is no index."""
        return self._asked(lambda index: index.size()) or 0

    def catch_up(self, *, limit: int, now: float | None = None) -> int:
        """Index up to `limit` pending pages, with `now` only those due; how many were. 0 when another writes."""
        with self._writing:
            index = self._writable()
            notes = self.pending.due(limit=limit, now=now) if index else ()
            if index is None or not notes:
                return 0
            for recover in (self._reopen, self._start_anew, None):
                try:
                    vectors = self._indexed(index, notes)
                    break
                except IndexDamaged as error:
                    if recover is None or shutil.disk_usage(self._directory).free < _SPACE_BYTES:
                        raise
                    log.warning("the index could not be written: %s", error)
                    index = recover()
            self.vectors.put(vectors)
            self.pending.done(notes)
            if self._meanwhile is not None:
                self._meanwhile.update(note.page for note in notes)
            return len(notes)

    def catch_up_all(self) -> None:
        """Index every pending page, due or not, in as few commits as memory allows; nothing when another writes.

        Each commit makes a segment that every search has to look into: 4,000 pages in eight of them cost a search
        four times as much as in one. And the counts of a term are written once a commit, not once in 500 pages.
        """
        with self._writing:
            while self.catch_up(limit=_BULK):
                pass
            if self._lock_file is not None and self._index is not None:
                self._index.settle()

    def owe(self) -> None:
        """Note that the index has words of a page that is removed, until it is made anew."""
        with self._database.write() as connection:
            connection.execute("INSERT OR REPLACE INTO meta VALUES (?, '1')", (_OWED,))

    def is_owed(self) -> bool:
        """Whether the index should be made anew for the sake of a removed page."""
        with self._database.read() as connection:
            return connection.execute("SELECT 1 FROM meta WHERE key = ?", (_OWED,)).fetchone() is not None

    def renew(self) -> bool:
        """Make another index beside the one in use, then change over; False when that is not ours to do, or fails.

        A removed page is not found any more, but its words stay in the files until tantivy happens to join them,
        and it cannot be told to. Searching and indexing go on meanwhile.
        """
        with self._renewing:
            with self._writing:
                if self._writable() is None:
                    return False
                self._meanwhile = set()
            try:
                fresh = Index(self._directory / _new_name(), create=True)
                fresh.update(self._entries(self._pages.numbers()))
                with self._writing:
                    fresh.update(self._entries(self._meanwhile))
                    fresh.settle()
                    self._change_over(fresh)
            except CollectionError as error:
                log.warning("no other index was made: %s", error)
                return False
            finally:
                self._meanwhile = None
        return True

    def _entries(self, pages: Iterable[int]) -> Iterator[Entry]:
        for page in pages:
            if self._closing.is_set():
                raise CollectionError("the collection is being closed")
            yield self._entry(page)

    def close(self) -> None:
        """Give up the lock; pages still pending are indexed by whoever comes next."""
        self._closing.set()
        with self._writing, self._choosing:
            if self._index is not None:
                self._index.close()
                self._index = None
            if self._lock_file is not None:
                os.close(self._lock_file)
                self._lock_file = None

    def _asked(self, question: Callable[[Index], T]) -> T | None:
        """What the index answers; None when there is none, or it proves damaged, which has it made anew."""
        index = self._current()
        if index is None:
            return None
        try:
            return question(index)
        except IndexDamaged as error:
            log.error("the index is damaged and will be made anew: %s", error)
            self._abandon(index)
            return None

    def _indexed(self, index: Index, notes: Iterable[Note]) -> dict[int, bytes | None]:
        """Put pages into the index; their vectors. One page after another: a large import must fit in memory."""
        vectors: dict[int, bytes | None] = {}

        def entries() -> Iterator[Entry]:
            for note in notes:
                entry = self._entry(note.page)
                vectors[note.page] = packed(entry)
                yield entry

        index.update(entries())
        return vectors

    def _entry(self, page: int) -> Entry:
        document = self._pages.document(page)
        if document is None:
            return Entry(page=page)
        try:
            linked = self._graph.linked(page, _LINKED)
            return entry_of(page, document, self._graph.anchors(page, _ANCHORS), linked)
        except Exception:  # one odd page must not keep all others out of the index
            log.exception("cannot be indexed: %s", document.url)
            return Entry(page=page)

    def _current(self) -> Index | None:
        """The index as last committed; a reader looks for a newer one now and then."""
        if self._lock_file is not None:
            return self._index
        with self._choosing:
            if self._index and time.monotonic() - self._looked_at < _LOOK_AGAIN_S:
                return self._index
            self._looked_at = time.monotonic()
            name = self._name()
            try:
                if self._index is not None and self._index.directory.name == name:
                    self._index.reload()
                else:
                    self._index = Index(self._directory / name) if name else None
            except IndexDamaged as error:
                log.warning("no index to search in: %s", error)
                self._index = None
            return self._index

    def _writable(self) -> Index | None:
        """The index to write to; takes the lock when it is free, None when another process has it."""
        if self._lock_file is not None and self._index is not None:
            return self._index
        with self._choosing:
            if self._lock_file is None and not self._lock():
                return None
            return self._reopen()

    def _reopen(self) -> Index:
        """Open the index named in the database, or a new one when it is unfit; the lock is held."""
        with self._choosing:
            if self._index is not None:
                self._index.close()
            name = self._name()
            try:
                if name.startswith(f"{FORMAT}-"):
                    index = Index(self._directory / name)
                    if self._is_plausible(index):
                        self._index = index
                        return index
            except IndexDamaged as error:
                log.warning("the index is made anew: %s", error)
            return self._start_anew()

    def _start_anew(self) -> Index:
        """Begin an empty index and note every page; the lock is held."""
        index = Index(self._directory / _new_name(), create=True)
        self._change_over(index, note_all=True)
        return index

    def _change_over(self, index: Index, *, note_all: bool = False) -> None:
        """Use another index from now on, and throw away all others; the lock is held.

        Its name is written first: on a full disk that fails, and what went into a nameless one would be lost.
        """
        with self._database.write() as connection:
            connection.execute("INSERT OR REPLACE INTO meta VALUES ('index', ?)", (index.directory.name,))
            connection.execute("DELETE FROM meta WHERE key = ?", (_OWED,))
            if note_all:
                self.pending.add_all()
        with self._choosing:
            if self._index is not None:
                self._index.close()
            self._index = index
        for other in self._directory.iterdir():
            if other.is_dir() and other != index.directory:
                shutil.rmtree(other, ignore_errors=True)

    def _abandon(self, index: Index) -> None:
        """Stop using a damaged index; the writer makes another, a reader waits for it."""
        with self._writing, self._choosing:
            if self._index is not index:
                return
            if self._lock_file is not None or self._lock():
                self._start_anew()
            else:
                self._index = None

    def _lock(self) -> bool:
        self._lock_file = lock_alone(self._directory / "writer.lock")
        return self._lock_file is not None

    def _is_plausible(self, index: Index) -> bool:
        """Whether the index has about as many pages as it should: not one put back from an old backup."""
        pending, (pages, _, _) = self.pending.count(), self._pages.counts()
        return pages - pending <= index.size() <= pages + pending

    def _name(self) -> str:
        with self._database.read() as connection:
            row = connection.execute("SELECT value FROM meta WHERE key = 'index'").fetchone()
        return str(row[0]) if row else ""


def _new_name() -> str:
    return f"{FORMAT}-{secrets.token_hex(8)}"
