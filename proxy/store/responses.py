"""The store of responses. proxy.cache decides what may be stored or served.

There are three tiers: the most used small responses in memory; `responses/`, bounded, with least-recently-used
eviction; and `pinned/` for imports, never evicted. All disk work runs in our own threads: one writes, in order, and a
few read. The event loop's default threads also resolve host names, and a slow name server would block the cache
there.

Several processes may use one directory. Each has its own memory tier. The workers of one `linkmend serve` share which
keys changed (`proxy.store.invalidation`), so that none answers with a response that another has replaced or removed.
Changes by other processes, such as `linkmend import`, show only after the copy in memory was evicted or replaced.
"""

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import ParamSpec, Self, TypeVar

from proxy.errors import StoreError
from proxy.messages import Headers, StoredResponse
from proxy.settings import CacheSettings
from proxy.store.directorylock import DirectoryLock
from proxy.store.invalidation import LocalInvalidation, StoreInvalidation
from proxy.store.memory import CachedEntry, MemoryStore, cost_of
from proxy.store.spool import Spool, SpoolPool
from proxy.store.tiers import DISK_ERRORS, StoreTiers
from proxy.store.unwritten import UnwrittenResponse, UnwrittenResponses
from proxy.store.warmkeys import WarmKeys, is_in_row, with_waiting
from repair.logs import RateLimitedLogger

log = logging.getLogger(__name__)

QUEUED_BYTES = 64 * 1024**2
"""Bytes that may wait for the writer; beyond this, responses are not stored."""
MARK_EVERY_S = 10.0
MARK_AT_MOST = 1000
"""Last uses are written in batches, after so many seconds or keys, and before each eviction."""
ABSENT_S = 5.0
ABSENT_AT_MOST = 10_000
"""How long a key counts as absent without another look at the disk; another process may add it meanwhile."""
_READERS = 3

P = ParamSpec("P")
T = TypeVar("T")


class ResponseStore:
    """Responses by cache key, each key with its variants. For one event loop; create it with `open`."""

    def __init__(
        self,
        tiers: StoreTiers,
        room: SpoolPool,
        lock: DirectoryLock,
        *,
        memory_bytes: int,
        changes: StoreInvalidation | None = None,
    ) -> None:
        self._tiers = tiers
        self._room = room
        self._directory_lock = lock
        self._memory = MemoryStore(memory_bytes)
        self._changes = changes or LocalInvalidation()
        self._warm = WarmKeys()
        self._unwritten = UnwrittenResponses(self._write_small)
        self._reading: dict[str, object] = {}
        self._absent: dict[str, tuple[float, int]] = {}
        self._queued_bytes = 0
        self._marking: Future[None] | None = None
        self._marked_at = time.monotonic()
        self._limited_log = RateLimitedLogger(log)
        self._closed = False
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="linkmend-store-write")
        self._readers = ThreadPoolExecutor(_READERS, thread_name_prefix="linkmend-store-read")
        self._writer.submit(tiers.sweep, lock)

    @classmethod
    def open(
        cls, directory: Path, settings: CacheSettings, *, changes: StoreInvalidation | None = None
    ) -> Self:
        """Creates the directory if needed; blocks for a moment. Raises StoreError when the store cannot be used."""
        lock = None
        try:
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            directory = directory.resolve()
            lock = DirectoryLock(directory)
            spool = lock.spool(directory / "spool")
            tiers = StoreTiers(directory, spool=spool, max_bytes=settings.max_bytes)
        except DISK_ERRORS as error:
            if lock is not None:
                lock.close()
            raise StoreError(f"{directory}: cannot open the cache: {error}") from error
        room = SpoolPool(spool, max_body_bytes=min(settings.max_body_bytes, settings.max_bytes))
        return cls(tiers, room, lock, memory_bytes=settings.memory_bytes, changes=changes)

    def recall(self, key: str) -> tuple[StoredResponse, ...] | None:
        """The responses in memory, newest first; None: look on disk."""
        held = self.get_cached(key)
        if held is not None:
            return held.responses
        return None if self.may_be_on_disk(key) else ()

    def get_cached(self, key: str) -> CachedEntry | None:
        """The entry in memory, which can also hold data derived from it; None when there is none."""
        held = self._memory.get(key) or self._unwritten.get(key)
        if held is None:
            return None
        if held.stamp != self._changes.stamp(key):  # another worker has changed it
            self._memory.pop(key)
            self._unwritten.forget(key)
            return None
        if len(held.responses) == 1:
            self._note_use(key)
        return held

    def note_variant(self, key: str, stored: StoredResponse) -> None:
        """Note the use of one of several variants, since `recall`, `lookup` and `get_cached` do not know which."""
        self._note_use(key, stored.vary)

    async def lookup(self, key: str) -> tuple[StoredResponse, ...]:
        """Every variant, newest first, pinned ones last; () when there is none or the disk fails."""
        recalled = self.recall(key)
        if recalled is not None or self._closed:
            return recalled or ()
        return (await self.read(key)).responses

    def may_be_on_disk(self, key: str) -> bool:
        """Whether `read` may find what `get_cached` does not."""
        if self._closed or self._is_absent(key):
            return False
        stamp = self._changes.stamp(key)
        is_absent = self._warm.is_absent(key, self._tiers.lacks_unwaiting)
        if is_absent:
            self._note_absent(key, stamp)
        return not is_absent

    def read_warm(self, key: str) -> CachedEntry | None:
        """What is on disk, if that is known to be no slower than memory; else None, and `read` finds it."""
        stamp = self._changes.stamp(key)
        found = self._warm.read(key, self._tiers.read_unwaiting) if not self._closed else ()
        return self._take_in(key, found, stamp) if found else None

    async def read(self, key: str) -> CachedEntry:
        """What is on disk, empty if there is nothing; from now on it is in memory, too, unless it is too large."""
        # A concurrent change of this key removes the mark, so that nothing outdated gets into memory.
        mark = self._reading[key] = object()
        stamp = self._changes.stamp(key)
        try:
            found, waited = await self._run_in(self._readers, with_waiting, self._tiers.read, key)
            if self._reading.get(key) is not mark:
                return CachedEntry(responses=found, cost=0)
            self._warm.note(key, found)
            if found:
                return self._take_in(key, found, stamp)
            self._note_absent(key, stamp)
            self._warm.note_absent(waited)
            return CachedEntry(responses=(), cost=0)
        finally:
            if self._reading.get(key) is mark:
                del self._reading[key]

    def _take_in(self, key: str, found: tuple[StoredResponse, ...], stamp: int) -> CachedEntry:
        if len(found) == 1:
            self._note_use(key)
        return self._memory.put(key, found, stamp=stamp)

    async def put(self, key: str, response: StoredResponse) -> bool:
        """Replaces the variant with equal `vary`. The store takes over a spooled FileBody, stored or not.

        True once it is written and would survive `kill -9`; False when it is too large, or the disk full or too slow.
        """
        size = len(response.body) if isinstance(response.body, bytes) else 0
        if not self._has_room(key, size):
            return False
        stored = await self._change(key, size, self._tiers.write, key, response)
        if stored and not response.vary:
            self._warm.note(key, (response,))
        return stored

    def put_soon(self, key: str, response: StoredResponse, written: Callable[[], None]) -> bool:
        """As `put`, for a small response without `vary` where nothing was stored, and without waiting for the disk.

        It is found here at once, and by other processes when `written` is called. False, and that is not called, when
        the store is closed, the disk too slow or the response not small enough for its row.
        """
        entry = CachedEntry(responses=(response,), cost=cost_of(response), stamp=self._changes.stamp(key))
        unwritten = UnwrittenResponse(key=key, entry=entry, written=written)
        if self._closed or not is_in_row(response) or not self._has_room(key, unwritten.size):
            return False
        self._forget(key)
        self._queued_bytes += unwritten.size
        self._unwritten.add(unwritten)
        return True

    async def remove(self, key: str) -> None:
        """Removes every variant that is not pinned."""
        await self._change(key, 0, self._tiers.remove, key)

    async def erase(self, key: str) -> bool:
        """Removes every variant, also pinned ones, and every trace on disk; returns whether that succeeded."""
        return await self._change(key, 0, self._tiers.erase, key)

    async def pin(self, key: str) -> bool:
        """Pins the stored responses; False when there are none, or they could not be written."""
        return await self._change(key, 0, self._tiers.pin, key)

    async def unpin(self, key: str) -> bool:
        """Makes pinned responses evictable; one that was fetched again since is dropped for the newer one."""
        return await self._change(key, 0, self._tiers.unpin, key)

    async def keys_with(self, part: str) -> frozenset[str]:
        """The keys that contain a text; scans all keys. Raises StoreError when the disk fails."""
        try:
            await self._all_written()
            return frozenset(await self._run_in(self._readers, self._tiers.keys_with, part))
        except DISK_ERRORS as error:
            raise StoreError(f"cannot search the cache: {error}") from error

    async def volume(self) -> int:
        """Bytes on disk, including pinned responses. Raises StoreError when the disk fails."""
        return await self._measure(self._tiers.volume)

    async def count(self) -> int:
        """The number of stored responses, counting each variant. Raises StoreError when the disk fails."""
        return await self._measure(self._tiers.count)

    def spool(self) -> Spool:
        """A spool for a streamed body; pass the finished body to `put`."""
        return self._room.spool()

    async def close(self) -> None:
        """Waits for pending writes; after this, lookups find nothing and nothing is stored."""
        if self._closed:
            return
        self._closed = True
        self._unwritten.flush()
        self._room.close()
        everyone = threading.Barrier(_READERS)
        leaving = (self._run_in(self._readers, self._finish_reading, everyone) for _ in range(_READERS))
        await asyncio.gather(*leaving)
        self._tiers.close_connections()  # this thread's, from warm reads
        # Last and alone: connections that close at the same moment leave SQLite's log behind.
        await self._run_in(self._writer, self._finish_writing)
        self._writer.shutdown(wait=False)
        self._readers.shutdown(wait=False)

    async def _run_in(
        self, threads: ThreadPoolExecutor, job: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        return await asyncio.wrap_future(threads.submit(job, *args, **kwargs))

    async def _change(
        self, key: str, size: int, job: Callable[P, bool], *args: P.args, **kw: P.kwargs
    ) -> bool:
        """Runs a change to its end even if the caller is cancelled; drops the key from memory before and after."""
        if self._closed:
            return False

        def change() -> bool:
            try:
                return job(*args, **kw)
            finally:
                self._changes.note(key)  # at once, since other workers may have it in memory

        def done(_: object) -> None:
            self._queued_bytes -= size
            self._forget(key)

        self._unwritten.flush()  # this change comes after them
        self._forget(key)
        self._queued_bytes += size
        changing = asyncio.wrap_future(self._writer.submit(change))
        changing.add_done_callback(done)  # runs before the awaiting task wakes
        return await asyncio.shield(changing)

    def _write_small(self, gathered: tuple[UnwrittenResponse, ...]) -> None:
        loop = asyncio.get_running_loop()

        def write() -> None:
            # What another worker has removed or changed since is not brought back.
            current = [each for each in gathered if each.entry.stamp == self._changes.stamp(each.key)]
            try:
                self._tiers.write_small([(each.key, each.response) for each in current])
            finally:
                for each in gathered:
                    self._changes.note(each.key)

        self._writer.submit(write).add_done_callback(
            lambda _: loop.call_soon_threadsafe(self._note_written, gathered)
        )

    def _note_written(self, gathered: tuple[UnwrittenResponse, ...]) -> None:
        for each in gathered:
            self._queued_bytes -= each.size
            if self._unwritten.is_current(each):
                self._forget(each.key)
                self._warm.note(each.key, each.entry.responses)
            each.written()

    async def _all_written(self) -> None:
        self._unwritten.flush()
        await self._run_in(self._writer, lambda: None)

    def _has_room(self, key: str, size: int) -> bool:
        if self._queued_bytes + size <= QUEUED_BYTES:
            return True
        self._limited_log.warning("cache: disk too slow, response not stored: %s", key)
        return False

    async def _measure(self, measure: Callable[[], int]) -> int:
        try:
            await self._all_written()
            return await self._run_in(self._readers, measure)
        except DISK_ERRORS as error:
            raise StoreError(f"cannot measure the cache: {error}") from error

    def _forget(self, key: str) -> None:
        self._memory.pop(key)
        self._unwritten.forget(key)
        self._warm.forget(key)
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
        waiting = self._tiers.note_use(key, vary)
        now = time.monotonic()
        due = waiting >= MARK_AT_MOST or now - self._marked_at >= MARK_EVERY_S
        if due and not self._closed and (self._marking is None or self._marking.done()):
            self._marked_at = now
            self._marking = self._writer.submit(self._tiers.mark_used)

    def _finish_writing(self) -> None:
        self._tiers.mark_used()
        self._tiers.clear_spool()
        self._tiers.close_connections()
        self._directory_lock.close()

    def _finish_reading(self, everyone: threading.Barrier) -> None:
        """Runs once in each thread: the barrier keeps a fast thread from running it twice."""
        self._tiers.close_connections()
        everyone.wait(timeout=30)
