"""Harvest: reads pages that users visit into the collection, in the background.

`offer` only puts a page in a bounded queue; a thread reads it (markup, links, index), so that none of this runs on
the event loop and a flood of pages costs some of them, never a user's time. `later` queues any other work.
The caller decides whether a page may be shared at all; this module obeys what the page itself forbids (noindex).
"""

import hashlib
import logging
import queue
import sqlite3
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from repair.bounded import BoundedDict
from repair.collection.collection import Collection, PageAddition
from repair.errors import FileTooCostly, RepairError
from repair.evidence.hints import Hints
from repair.model import Document, HeldCopy, Page
from repair.parse import decode
from repair.parse.document import document as read_document
from repair.parse.formats.kinds import kind_of
from repair.secrets.addresses import has_secret
from repair.settings import CollectionSettings
from repair.text import urls

log = logging.getLogger(__name__)

_READABLE = frozenset({200, 203})
_PARSER_VERSION = b"2"  # changes when `repair.parse.document` extracts more, so that pages are read again
_WAITING_BYTES = 32 * 1024**2  # of pages in the queue, however few they are
_SITE_REST_S = 3_600.0  # for files of a site of which one took all the time or memory that a file may
_SITES = 1_000
_SLICE = 100  # pages indexed between two looks at the queue, when the index is far behind


@dataclass(frozen=True, slots=True, kw_only=True)
class HarvestStats:
    """What happened to the pages and the other work offered since the start."""

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
        leaves_index: Callable[[], bool] = lambda: False,
    ) -> None:
        """`is_hurried` says whether users wait for this process: hints then catch up later. `leaves_index` says
        whether another process keeps the index up to date."""
        self._is_hurried = is_hurried
        self._leaves_index = leaves_index
        self._collection = collection
        self._hints = hints
        self._settings = settings
        self._queue: queue.Queue[Page | Callable[[], None]] = queue.Queue(
            maxsize=max(1, settings.queue_length)
        )
        self._waiting_bytes = 0
        self._costly_sites = BoundedDict[str, float](_SITES)
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._read = self._unchanged = self._passed_over = self._failed = 0
        self._worker = threading.Thread(target=self._work, name="harvest", daemon=True)
        self._worker.start()

    def offer(self, page: Page) -> bool:
        """Queue a page to be read; False, at once, when the queue is full."""
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
        """Queue other work; False, at once, when the queue is full."""
        if self._closing.is_set():
            return False
        try:
            self._queue.put_nowait(work)
        except queue.Full:
            self._passed_over += 1
            return False
        return True

    def stats(self) -> HarvestStats:
        """What happened to the pages offered."""
        return HarvestStats(
            waiting=self._queue.qsize(),
            read=self._read,
            unchanged=self._unchanged,
            passed_over=self._passed_over,
            failed=self._failed,
        )

    def close(self, timeout_s: float = 10.0) -> bool:
        """Read what is queued, then stop; False when that took too long and the rest was dropped."""
        self._closing.set()
        self._worker.join(timeout_s)
        return not self._worker.is_alive()

    def _work(self) -> None:
        index_at = 0.0
        while not (self._closing.is_set() and self._queue.empty()):
            now = time.monotonic()
            if now >= index_at:
                behind = self._index()
                # Far behind (an import, an index rebuilt): go on at once, but look at the queue in between.
                index_at = now if behind else now + self._settings.commit_every_s
            try:
                self._process(self._queue.get(timeout=self._patience_s(index_at)))
            except queue.Empty:
                continue
        self._index()

    def _patience_s(self, index_at: float) -> float:
        if self._closing.is_set():
            return 0.001
        # Short enough to notice close() soon.
        return min(max(index_at - time.monotonic(), 0.001), 0.2)

    def _index(self) -> bool:
        """Index a batch of what is due; returns whether more is left. When nothing is, let the hints catch up."""
        if self._leaves_index():
            return False
        try:
            if self._collection.index_some(_SLICE) == _SLICE:
                return True
            if self._hints is not None and not self._closing.is_set():
                self._hints.catch_up(self._is_hurried)
        except (RepairError, OSError, sqlite3.Error) as error:  # a full disk; what is due stays due
            log.warning("harvest: indexing failed: %s", error)
        except Exception:  # the worker thread survives whatever else happens
            log.exception("harvest: indexing failed")
        return False

    def _process(self, work: Page | Callable[[], None]) -> None:
        try:
            if isinstance(work, Page):
                with self._lock:
                    self._waiting_bytes -= len(work.body)
                self._save(work)
            else:
                work()
        except Exception as error:  # noqa: BLE001  (one odd page must not end the harvest)
            self._failed += 1
            what = work.url if isinstance(work, Page) else "a note"
            log.warning("harvest: failed for %s: %s: %s", what, type(error).__name__, error)

    def _save(self, page: Page) -> None:
        if page.status not in _READABLE:
            return
        if self._collection.seen_again(page.url, raw_digest(page), seen_at=page.fetched_at):
            self._unchanged += 1
            return
        addition = self._addition_of(page)
        if addition is None:
            return
        if addition.document.noindex:
            self._forget(page.url)
        else:
            before = self._collection.outlinks(page.url)
            if self._collection.add_many((addition,)):
                self._read += 1
                if before and self._hints is not None:
                    self._hints.note_new_links(page.url, before, self._collection.outlinks(page.url))

    def _addition_of(self, page: Page) -> PageAddition | None:
        """A costly file keeps all other pages waiting, so its site gets no second try for a while."""
        site = urls.site(page.url)
        if kind_of(page) is not None and time.monotonic() < self._costly_sites.get(site, 0.0):
            self._passed_over += 1
            return None
        try:
            return addition_of(page, self._settings)
        except FileTooCostly:
            self._costly_sites[site] = time.monotonic() + _SITE_REST_S
            raise

    def _forget(self, url: str) -> None:
        """Delete a page that asks not to be indexed, unless an admin put it there."""
        saved = self._collection.get(url)
        if saved is not None and not saved.pinned:
            self._collection.remove(url)
            if self._hints is not None:
                self._hints.forget(url)


def addition_of(page: Page, settings: CollectionSettings, *, pinned: bool = False) -> PageAddition | None:
    """A fetched page or file as it is saved; None when it is not a readable document. Raises FileTooCostly."""
    if page.status not in _READABLE:
        return None
    document = read_document(page, settings)
    if document is None:
        return None
    return PageAddition(
        document=_without_secrets(document),
        fetched_at=page.fetched_at,
        copy=copy_of(page, settings),
        pinned=pinned,
        raw_digest=raw_digest(page),
    )


def _without_secrets(document: Document) -> Document:
    """The document without its links to URLs that carry a secret, which the link graph would disclose."""
    links = tuple(link for link in document.links if not has_secret(link.target_url))
    canonical = document.canonical_url
    return replace(
        document, links=links, canonical_url=None if canonical and has_secret(canonical) else canonical
    )


def raw_digest(page: Page) -> bytes:
    """A digest that is the same when the same bytes are seen again and would be read the same way."""
    digest = hashlib.blake2b(_PARSER_VERSION, digest_size=16)
    for name in ("content-type", "content-encoding", "x-robots-tag"):
        digest.update(f"{page.header(name) or ''}\n".encode("utf-8", "replace"))
    digest.update(page.body)
    return digest.digest()


def copy_of(page: Page, settings: CollectionSettings) -> HeldCopy | None:
    """The copy that is kept of a page; None when none is."""
    if not settings.keep_copies:
        return None
    body = decode.identity_body(page, settings.max_document_bytes)
    if body is None:
        return None
    content_type = page.header("content-type") or "text/html"
    return HeldCopy(url=page.url, content_type=content_type, body=body, fetched_at=page.fetched_at)
