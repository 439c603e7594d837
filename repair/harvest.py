"""Harvest: pages that pass by, read into the collection behind the reader's back.

`offer` only puts a page in a bounded queue; one thread of our own reads it (markup, links, index), so
that nothing of it runs on the event loop and a flood of pages costs some of them, never a reader's time. `later`
does the same for whatever else is worth noting.
Whether a page may be shared at all is decided by the caller; what the page itself forbids (noindex), here.
"""

import hashlib
import logging
import queue
import sqlite3
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from repair import decode, markup
from repair.collection import Addition, Collection
from repair.errors import RepairError
from repair.hints import Hints
from repair.model import Document, HeldCopy, Page
from repair.secreturls import has_secret
from repair.settings import CollectionSettings

log = logging.getLogger(__name__)

_READABLE = frozenset({200, 203})
_READING = b"1"  # changes when `repair.markup` reads more out of the same bytes, so that pages are read again
_WAITING_BYTES = 32 * 1024**2  # of pages in the queue, however few they are
_SLICE = 100  # pages indexed between two looks at the queue, when the index is far behind


@dataclass(frozen=True, slots=True, kw_only=True)
class HarvestStats:
    """What became of the pages, and of all else, offered since the start."""

    waiting: int
    read: int
    unchanged: int
    passed_over: int
    failed: int


class Harvester:
    """A queue of pages and the thread that reads them into the collection."""

    def __init__(
        self,
        collection: Collection,
        settings: CollectionSettings,
        hints: Hints | None = None,
        *,
        is_hurried: Callable[[], bool] = lambda: False,
    ) -> None:
        """`is_hurried` tells whether readers wait for what this process does: hints then catch up later."""
        self._is_hurried = is_hurried
        self._collection = collection
        self._hints = hints
        self._settings = settings
        self._queue: queue.Queue[Page | Callable[[], None]] = queue.Queue(
            maxsize=max(1, settings.queue_length)
        )
        self._waiting_bytes = 0
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._read = self._unchanged = self._passed_over = self._failed = 0
        self._worker = threading.Thread(target=self._work, name="harvest", daemon=True)
        self._worker.start()

    def offer(self, page: Page) -> bool:
        """Have a page read when its turn comes; False, at once, when too many wait already."""
        if self._closing.is_set():
            return False
        try:
            if self._waiting_bytes + len(page.body) > _WAITING_BYTES:
                raise queue.Full
            self._queue.put_nowait(page)
        except queue.Full:
            self._passed_over += 1
            return False
        with self._lock:
            self._waiting_bytes += len(page.body)
        return True

    def later(self, work: Callable[[], None]) -> bool:
        """Have something done when its turn comes; False, at once, when too much waits already."""
        if self._closing.is_set():
            return False
        try:
            self._queue.put_nowait(work)
        except queue.Full:
            self._passed_over += 1
            return False
        return True

    def stats(self) -> HarvestStats:
        """What became of the pages offered."""
        return HarvestStats(
            waiting=self._queue.qsize(),
            read=self._read,
            unchanged=self._unchanged,
            passed_over=self._passed_over,
            failed=self._failed,
        )

    def close(self, timeout_s: float = 10.0) -> bool:
        """Read what waits, then stop; False when that took longer and the rest was given up."""
        self._closing.set()
        self._worker.join(timeout_s)
        return not self._worker.is_alive()

    def _work(self) -> None:
        index_at = 0.0
        while not (self._closing.is_set() and self._queue.empty()):
            now = time.monotonic()
            if now >= index_at:
                behind = self._index()
                # Far behind (an import, an index made anew): go on at once, but look at the queue in between.
                index_at = now if behind else now + self._settings.commit_every_s
            try:
                self._take(self._queue.get(timeout=self._patience_s(index_at)))
            except queue.Empty:
                continue
        self._index()

    def _patience_s(self, index_at: float) -> float:
        if self._closing.is_set():
            return 0.001
        # Short enough that close() is noticed soon.
        return min(max(index_at - time.monotonic(), 0.001), 0.2)

    def _index(self) -> bool:
        """Index a slice of what is due; whether more is left. When nothing is, let the hints catch up."""
        try:
            if self._collection.index_some(_SLICE) == _SLICE:
                return True
            if self._hints is not None and not self._closing.is_set():
                self._hints.catch_up(self._is_hurried)
        except (RepairError, OSError, sqlite3.Error) as error:  # a full disk; what is due stays due
            log.warning("could not index: %s", error)
        except Exception:  # the worker outlives whatever else happens
            log.exception("could not index")
        return False

    def _take(self, work: Page | Callable[[], None]) -> None:
        try:
            if isinstance(work, Page):
                with self._lock:
                    self._waiting_bytes -= len(work.body)
                self._hold(work)
            else:
                work()
        except Exception as error:  # noqa: BLE001  (one odd page must not end the harvest)
            self._failed += 1
            what = work.url if isinstance(work, Page) else "a note"
            log.warning("could not read %s: %s: %s", what, type(error).__name__, error)

    def _hold(self, page: Page) -> None:
        if page.status not in _READABLE:
            return
        if self._collection.seen_again(page.url, raw_digest(page), seen_at=page.fetched_at):
            self._unchanged += 1
            return
        addition = addition_of(page, self._settings)
        if addition is None:
            return
        if addition.document.noindex:
            self._forget(page.url)
        elif self._collection.add_many((addition,)):
            self._read += 1

    def _forget(self, url: str) -> None:
        """A page that asks not to be indexed goes, unless the admin put it there."""
        held = self._collection.get(url)
        if held is not None and not held.pinned:
            self._collection.remove(url)
            if self._hints is not None:
                self._hints.forget(url)


def addition_of(page: Page, settings: CollectionSettings, *, pinned: bool = False) -> Addition | None:
    """A fetched page in the form in which it is held; None when it is not a readable document."""
    if page.status not in _READABLE:
        return None
    document = markup.document(page, max_bytes=settings.max_document_bytes, max_links=settings.max_links)
    if document is None:
        return None
    return Addition(
        document=_without_secrets(document),
        fetched_at=page.fetched_at,
        copy=_copy_of(page, settings),
        pinned=pinned,
        raw_digest=raw_digest(page),
    )


def _without_secrets(document: Document) -> Document:
    """The document without its links to addresses that carry a secret, which the link graph would tell."""
    links = tuple(link for link in document.links if not has_secret(link.target_url))
    canonical = document.canonical_url
    return replace(
        document, links=links, canonical_url=None if canonical and has_secret(canonical) else canonical
    )


def raw_digest(page: Page) -> bytes:
    """The same when the same bytes come by again and would be read the same way."""
    digest = hashlib.blake2b(_READING, digest_size=16)
    for name in ("content-type", "content-encoding", "x-robots-tag"):
        digest.update(f"{page.header(name) or ''}\n".encode("utf-8", "replace"))
    digest.update(page.body)
    return digest.digest()


def _copy_of(page: Page, settings: CollectionSettings) -> HeldCopy | None:
    if not settings.keep_copies:
        return None
    body = decode.identity_body(page, settings.max_document_bytes)
    if body is None:
        return None
    content_type = page.header("content-type") or "text/html"
    return HeldCopy(url=page.url, content_type=content_type, body=body, fetched_at=page.fetched_at)
