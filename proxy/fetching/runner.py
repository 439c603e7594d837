"""Works through the fetch queue: due pages, a few at a time, in the one process that holds the queue's lock.

Other processes only add to the queue, and take over when that process ends. After a crash, pages in progress are
due again.
"""

import asyncio
import logging
import os
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from functools import partial
from pathlib import Path

from proxy.errors import StoreError
from proxy.fetching.connectivity import Connectivity
from proxy.fetching.entries import (
    FetchEntry,
    FetchFailure,
    FetchRefused,
    FetchState,
    FetchTime,
    NoConnectivity,
    PermanentFetchError,
    TemporaryFetchError,
)
from proxy.fetching.fetcher import Fetcher
from proxy.fetching.pageparts import fetch_parts
from proxy.fetching.politeness import HostSlots
from proxy.fetching.queue import FetchQueue
from proxy.fetching.saving import FetchedPageSaver
from proxy.nighthours import NightHours
from proxy.settings import FetchSettings
from repair.fetch import FetchLimits
from repair.locks import lock_alone
from repair.logs import RateLimitedLogger

log = logging.getLogger(__name__)

_POLL_EVERY_S = 1.0
_LONGEST_WAIT_S = 6 * 3600.0
_OLDEST_S = 30 * 86_400.0


class FetchRunner:
    """One task that polls the queue, and one for each page in progress. For one event loop."""

    def __init__(
        self,
        queue: FetchQueue,
        fetcher: Fetcher,
        saver: FetchedPageSaver,
        connectivity: Connectivity,
        host_slots: HostSlots,
        *,
        lock: Path,
        settings: Callable[[], FetchSettings],
        offline: Callable[[], bool],
    ) -> None:
        """`lock` is the file that decides which process works through the queue."""
        self._queue, self._fetcher, self._saver = queue, fetcher, saver
        self._connectivity, self._host_slots = connectivity, host_slots
        self._lock_path = lock
        self._lock_file: int | None = None
        self._settings = settings
        self._offline = offline
        self._task: asyncio.Task[None] | None = None
        self._under_way: dict[int, asyncio.Task[None]] = {}
        self._received: dict[int, tuple[int, int]] = {}
        self._hand_free = asyncio.Event()
        self._limited_log = RateLimitedLogger(log)

    async def start(self) -> None:
        self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Cancel the pages in progress; they are due again, and the try does not count."""
        if self._task is None:
            return
        numbers = tuple(self._under_way)
        tasks = (self._task, *self._under_way.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        with suppress(StoreError):
            for number in numbers:
                await asyncio.to_thread(self._put_back, number)
        if self._lock_file is not None:
            os.close(self._lock_file)
            self._lock_file = None

    async def _run(self) -> None:
        while True:
            try:
                if not self._offline() and self._settings().enabled and await self._is_ours():
                    await self._poll()
            except StoreError as error:
                self._limited_log.error("the fetch queue cannot be used: %s", error)
            # Not wait_for, which in Python 3.11 may swallow that we are cancelled.
            with suppress(TimeoutError):
                async with asyncio.timeout(_POLL_EVERY_S):
                    await self._hand_free.wait()
            self._hand_free.clear()

    async def _is_ours(self) -> bool:
        """Whether this process is the one that fetches; when it becomes that, it requeues what another left."""
        if self._lock_file is not None:
            return True
        self._lock_file = await asyncio.to_thread(_take_lock, self._lock_path)
        if self._lock_file is None:
            return False
        left = await asyncio.to_thread(self._queue.recover, max_tries=self._settings().tries)
        if left:
            log.info("fetch queue: %d interrupted fetches restarted", left)
        return True

    async def _poll(self) -> None:
        """Record the progress of pages, and start due ones while there are free slots."""
        for number, (received, expected) in tuple(self._received.items()):
            await asyncio.to_thread(self._queue.progress, number, received, expected)
        while len(self._under_way) < self._settings().at_once:
            busy = self._host_slots.busy()
            entry = await asyncio.to_thread(self._queue.claim, self._allowed_times(), busy_hosts=busy)
            if entry is None:
                return
            task = asyncio.create_task(self._work(entry))
            self._under_way[entry.id] = task
            task.add_done_callback(partial(self._finish_task, entry.id))
            await asyncio.sleep(0)  # so that it takes its slot at the host before the next is chosen

    def _finish_task(self, number: int, _: object) -> None:
        self._under_way.pop(number, None)
        self._received.pop(number, None)
        self._hand_free.set()

    def _allowed_times(self) -> tuple[FetchTime, ...]:
        """Which pages may be fetched now. Without connectivity one page tests it, whichever is first."""
        if not self._connectivity.may_try(time.monotonic()) or (
            not self._connectivity.is_up() and self._under_way
        ):
            return ()
        night = NightHours.parse(self._settings().night).holds(datetime.now().astimezone().time())
        return (FetchTime.NOW, FetchTime.LINE, FetchTime.NIGHT) if night else (FetchTime.NOW, FetchTime.LINE)

    async def _work(self, entry: FetchEntry) -> None:
        try:
            remark, received = await self._fetch_entry(entry)
            await asyncio.to_thread(
                self._queue.finish, entry.id, FetchState.DONE, error=remark, received=received
            )
        except FetchFailure as trouble:
            await self._record_failure(entry, trouble)
        except StoreError as error:
            self._limited_log.error("the fetch queue cannot be used: %s", error)
        except Exception as error:  # one odd page must not end the fetching
            log.exception("fetch failed: %s", entry.url)
            await self._record_failure(entry, TemporaryFetchError(f"{type(error).__name__}: {error}"))

    async def _fetch_entry(self, entry: FetchEntry) -> tuple[str, int]:
        settings = self._settings()

        def on_bytes(received: int, expected: int) -> None:
            self._connectivity.note_answer(time.monotonic())
            self._received[entry.id] = (received, expected)

        limits = FetchLimits(max_bytes=settings.max_bytes, timeout_s=settings.timeout_s)
        fetched = await self._fetcher.fetch(entry.url, limits=limits, on_bytes=on_bytes)
        self._connectivity.note_answer(time.monotonic())
        if await asyncio.to_thread(self._queue.get, entry.id) is None:
            raise FetchRefused("removed from the queue while being fetched")
        remark = await self._saver.keep(fetched)
        parts = await fetch_parts(fetched, self._fetcher, self._saver, settings)
        message = f"{parts.missing} of its files could not be fetched" if parts.missing else ""
        return "; ".join(filter(None, (remark, message))), len(fetched.page.body)

    async def _record_failure(self, entry: FetchEntry, trouble: FetchFailure) -> None:
        """Record the failure of a page."""
        now, message = time.time(), str(trouble)
        settings = self._settings()
        if isinstance(trouble, FetchRefused | PermanentFetchError):
            state = FetchState.REFUSED if isinstance(trouble, FetchRefused) else FetchState.FAILED
            await asyncio.to_thread(self._queue.finish, entry.id, state, error=message)
            return
        young = now - entry.added_at.timestamp() < _OLDEST_S
        if (
            isinstance(trouble, NoConnectivity)
            and self._connectivity.note_silence(time.monotonic())
            and young
        ):
            until = now + max(0.0, self._connectivity.try_at - time.monotonic())
            await asyncio.to_thread(self._queue.postpone, entry.id, until=until, error=message, counted=False)
        elif entry.tries >= settings.tries:
            message = f"gave up after {entry.tries} tries: {message}"
            await asyncio.to_thread(self._queue.finish, entry.id, FetchState.FAILED, error=message)
        else:
            asked_s = trouble.after_s if isinstance(trouble, TemporaryFetchError) else 0.0
            wait_s = min(settings.retry_s * 4 ** (entry.tries - 1), _LONGEST_WAIT_S)
            await asyncio.to_thread(
                self._queue.postpone, entry.id, until=now + max(wait_s, asked_s), error=message
            )

    def _put_back(self, number: int) -> None:
        entry = self._queue.get(number)
        if entry is not None and entry.state is FetchState.FETCHING:
            self._queue.postpone(number, until=time.time(), error=entry.error, counted=False)


def _take_lock(path: Path) -> int | None:
    """Take the lock file; None when another process holds it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return lock_alone(path)
