"""The store of responses: what may be stored or served is decided elsewhere.

Three tiers: the most used small responses in memory; `responses/`, bounded, least recently used first out; and
`pinned/`, what was imported, never evicted. Every byte of disk work happens in threads of our own: one that writes,
in order, and a few that read. The event loop's default threads also resolve host names, and a slow name server
would hold up the cache there.

Several processes may use one directory. Memory is each process's own. Workers of one `linkmend serve` tell each other
what they change (`proxy.store.changes`), so that none answers with what another has replaced or removed. What others
do, say `linkmend import` beside it, is seen late, once the copy in memory was pushed out or replaced.
"""

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import ParamSpec, Self, TypeVar

from proxy.cache.entry import Headers, StoredResponse
from proxy.errors import StoreError
from proxy.settings import CacheSettings
from proxy.store.changes import Changes, OwnChanges
from proxy.store.complaints import Complaint
from proxy.store.memory import Held, Memory
from proxy.store.shelves import TROUBLE, Shelves
from proxy.store.spool import Spool, SpoolRoom
from proxy.store.tenancy import Tenancy

log = logging.getLogger(__name__)

QUEUED_BYTES = 64 * 1024**2
"""Bodies in memory that may wait to be written; past this responses are not stored."""
MARK_EVERY_S = 10.0
MARK_AT_MOST = 1000
"""Uses are written in batches, after so many seconds or keys, and before anything is evicted."""
ABSENT_S = 5.0
ABSENT_AT_MOST = 10_000
"""What is not on disk is not looked for again so soon; another process may have put it there since."""
_READERS = 3

P = ParamSpec("P")
T = TypeVar("T")


class ResponseStore:
    """Responses by key, each key with its variants. For one event loop; made by `open`."""

    def __init__(
        self,
        shelves: Shelves,
        room: SpoolRoom,
        tenancy: Tenancy,
        *,
        memory_bytes: int,
        changes: Changes | None = None,
    ) -> None:
        self._shelves = shelves
        self._room = room
        self._tenancy = tenancy
        self._memory = Memory(memory_bytes)
        self._changes = changes or OwnChanges()
        self._reading: dict[str, object] = {}
        self._absent: dict[str, tuple[float, int]] = {}
        self._queued_bytes = 0
        self._marking: Future[None] | None = None
        self._marked_at = time.monotonic()
        self._complain = Complaint(log)
        self._closed = False
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="linkmend-store-write")
        self._readers = ThreadPoolExecutor(_READERS, thread_name_prefix="linkmend-store-read")
        self._writer.submit(shelves.sweep, tenancy)

    @classmethod
    def open(cls, directory: Path, settings: CacheSettings, *, changes: Changes | None = None) -> Self:
        """Makes the directory if need be; blocks for a moment. Raises StoreError when it cannot be used at all."""
        tenancy = None
        try:
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            directory = directory.resolve()
            tenancy = Tenancy(directory)
            spool = tenancy.spool(directory / "spool")
            shelves = Shelves(directory, spool=spool, max_bytes=settings.max_bytes)
        except TROUBLE as error:
            if tenancy is not None:
                tenancy.close()
            raise StoreError(f"{directory}: the cache cannot be used: {error}") from error
        room = SpoolRoom(spool, max_body_bytes=min(settings.max_body_bytes, settings.max_bytes))
        return cls(shelves, room, tenancy, memory_bytes=settings.memory_bytes, changes=changes)

    def recall(self, key: str) -> tuple[StoredResponse, ...] | None:
        """What memory holds, newest first; None: ask the disk."""
        held = self.at_hand(key)
        if held is not None:
            return held.responses
        return () if self._is_absent(key) else None

    def at_hand(self, key: str) -> Held | None:
        """What memory holds, with room for what is worked out of it; None when it is not in memory."""
        held = self._memory.get(key)
        if held is None:
            return None
        if held.stamp != self._changes.stamp(key):
            self._memory.pop(key)  # another worker has changed it
            return None
        if len(held.responses) == 1:
            self._note_use(key)
        return held

    def note_variant(self, key: str, stored: StoredResponse) -> None:
        """One of several variants is used: `recall`, `lookup` and `at_hand` do not know which it will be."""
        self._note_use(key, stored.vary)

    async def lookup(self, key: str) -> tuple[StoredResponse, ...]:
        """Every variant, newest first, pinned ones last; () when there is none or the disk fails."""
        recalled = self.recall(key)
        if recalled is not None or self._closed:
            return recalled or ()
        # Whoever changes this key meanwhile removes the mark, so that nothing outdated gets into memory.
        mark = self._reading[key] = object()
        stamp = self._changes.stamp(key)
        try:
            found = await self._in(self._readers, self._shelves.read, key)
            if found:
                if len(found) == 1:
                    self._note_use(key)
                if self._reading.get(key) is mark:
                    self._memory.put(key, found, stamp=stamp)
            elif self._reading.get(key) is mark:
                self._note_absent(key, stamp)
        finally:
            if self._reading.get(key) is mark:
                del self._reading[key]
        return found

    async def put(self, key: str, response: StoredResponse) -> bool:
        """Replaces the variant with equal `vary`. A FileBody out of a spool becomes the store's, stored or not.

        True once it is written and would survive `kill -9`; False when it is too large, or the disk full or behind.
        """
        size = len(response.body) if isinstance(response.body, bytes) else 0
        if self._queued_bytes + size > QUEUED_BYTES:
            self._complain("the disk cannot keep up: a response is not stored: %s", key)
            return False
        return await self._change(key, size, self._shelves.write, key, response)

    async def remove(self, key: str) -> None:
        """Removes every variant that is not pinned."""
        await self._change(key, 0, self._shelves.remove, key)

    async def erase(self, key: str) -> bool:
        """Removes every variant, pinned ones too, so that nothing of them is left on disk; whether that succeeded."""
        return await self._change(key, 0, self._shelves.erase, key)

    async def pin(self, key: str) -> bool:
        """Keeps for good what is held now; False when nothing was, or it could not be written."""
        return await self._change(key, 0, self._shelves.pin, key)

    async def unpin(self, key: str) -> bool:
        """Lets pinned responses be evicted like any other; one that was fetched anew since goes for the newer."""
        return await self._change(key, 0, self._shelves.unpin, key)

    async def keys_with(self, part: str) -> frozenset[str]:
        """The keys in which a text occurs; looks at all of them. Raises StoreError when the disk fails."""
        try:
            return frozenset(await self._in(self._readers, self._shelves.keys_with, part))
        except TROUBLE as error:
            raise StoreError(f"the cache cannot be looked through: {error}") from error

    async def volume(self) -> int:
        """Bytes on disk, pinned ones too. Raises StoreError when the disk fails."""
        return await self._measured(self._shelves.volume)

    async def count(self) -> int:
        """Responses held, each variant counted. Raises StoreError when the disk fails."""
        return await self._measured(self._shelves.count)

    def spool(self) -> Spool:
        """Takes a body as it streams by; for `put` once it is whole."""
        return self._room.spool()

    async def close(self) -> None:
        """Waits for what is being written; after this nothing is found and nothing stored."""
        if self._closed:
            return
        self._closed = True
        self._room.close()
        everyone = threading.Barrier(_READERS)
        leaving = (self._in(self._readers, self._finish_reading, everyone) for _ in range(_READERS))
        await asyncio.gather(*leaving)
        # Last and alone: connections that close at the same moment leave SQLite's log behind.
        await self._in(self._writer, self._finish_writing)
        self._writer.shutdown(wait=False)
        self._readers.shutdown(wait=False)

    async def _in(
        self, threads: ThreadPoolExecutor, job: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        return await asyncio.wrap_future(threads.submit(job, *args, **kwargs))

    async def _change(
        self, key: str, size: int, job: Callable[P, bool], *args: P.args, **kw: P.kwargs
    ) -> bool:
        """Runs a change to its end even if the caller is cancelled; memory forgets the key before and after."""
        if self._closed:
            return False

        def change() -> bool:
            try:
                return job(*args, **kw)
            finally:
                self._changes.note(key)  # at once: other workers have it in memory too

        def done(_: object) -> None:
            self._queued_bytes -= size
            self._forget(key)

        self._forget(key)
        self._queued_bytes += size
        changing = asyncio.wrap_future(self._writer.submit(change))
        changing.add_done_callback(done)  # runs before whoever awaits it wakes
        return await asyncio.shield(changing)

    async def _measured(self, measure: Callable[[], int]) -> int:
        try:
            return await self._in(self._readers, measure)
        except TROUBLE as error:
            raise StoreError(f"the cache cannot be measured: {error}") from error

    def _forget(self, key: str) -> None:
        self._memory.pop(key)
        self._absent.pop(key, None)
        self._reading.pop(key, None)

    def _is_absent(self, key: str) -> bool:
        until, stamp = self._absent.get(key, (0.0, 0))
        return until > time.monotonic() and stamp == self._changes.stamp(key)

    def _note_absent(self, key: str, stamp: int) -> None:
        if len(self._absent) >= ABSENT_AT_MOST:
            self._absent.clear()
        self._absent[key] = (time.monotonic() + ABSENT_S, stamp)

    def _note_use(self, key: str, vary: Headers | None = None) -> None:
        waiting = self._shelves.note_use(key, vary)
        now = time.monotonic()
        due = waiting >= MARK_AT_MOST or now - self._marked_at >= MARK_EVERY_S
        if due and not self._closed and (self._marking is None or self._marking.done()):
            self._marked_at = now
            self._marking = self._writer.submit(self._shelves.mark_used)

    def _finish_writing(self) -> None:
        self._shelves.mark_used()
        self._shelves.clear_spool()
        self._shelves.close_connections()
        self._tenancy.close()

    def _finish_reading(self, everyone: threading.Barrier) -> None:
        """One in each thread: the barrier keeps a quick thread from doing it twice."""
        self._shelves.close_connections()
        everyone.wait(timeout=30)
