"""Works the fetch queue off: what is due, a few pages at a time, in the one process that holds the queue's lock.

Other processes only add to the queue, and take over when that one ends. After a crash, what was under way is due
again.
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
from proxy.fetching.door import Limits
from proxy.fetching.entries import FetchEntry, FetchTrouble, Lasting, NoLine, Passing, Refusal, State, When
from proxy.fetching.fetcher import Fetched, Fetcher
from proxy.fetching.keeping import Keeper
from proxy.fetching.line import Line
from proxy.fetching.night import Night
from proxy.fetching.pace import Turns
from proxy.fetching.parts import parts_of
from proxy.fetching.queue import FetchQueue
from proxy.settings import FetchSettings
from repair.locks import lock_alone

log = logging.getLogger(__name__)

_LOOK_EVERY_S = 1.0
_LONGEST_WAIT_S = 6 * 3600.0
_OLDEST_S = 30 * 86_400.0
_PART_BYTES = 2 * 1024**2
_PARTS_S = 120.0


class FetchRunner:
    """One task that looks at the queue, and one for each page under way. For one event loop."""

    def __init__(
        self,
        queue: FetchQueue,
        fetcher: Fetcher,
        keeper: Keeper,
        line: Line,
        turns: Turns,
        *,
        lock: Path,
        settings: Callable[[], FetchSettings],
        offline: Callable[[], bool],
    ) -> None:
        """`lock` is the file that tells which process works the queue off."""
        self._queue, self._fetcher, self._keeper = queue, fetcher, keeper
        self._line, self._turns = line, turns
        self._lock_path = lock
        self._lock_file: int | None = None
        self._settings = settings
        self._offline = offline
        self._task: asyncio.Task[None] | None = None
        self._under_way: dict[int, asyncio.Task[None]] = {}
        self._received: dict[int, tuple[int, int]] = {}
        self._hand_free = asyncio.Event()
        self._complained_at = float("-inf")

    async def start(self) -> None:
        self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Give up what is under way; it is due again, and the try does not count."""
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
                    await self._look()
            except StoreError as error:
                self._complain(error)
            # Not wait_for, which in Python 3.11 may swallow that we are cancelled.
            with suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_EVERY_S):
                    await self._hand_free.wait()
            self._hand_free.clear()

    async def _is_ours(self) -> bool:
        """Whether this process is the one that fetches; whoever begins puts back what another left."""
        if self._lock_file is not None:
            return True
        self._lock_file = await asyncio.to_thread(_locked, self._lock_path)
        if self._lock_file is None:
            return False
        left = await asyncio.to_thread(self._queue.recover, max_tries=self._settings().tries)
        if left:
            log.info("%d fetches were cut off and are tried again", left)
        return True

    async def _look(self) -> None:
        """Write down how far pages have come, and begin with what is due as long as there is a free hand."""
        for number, (received, expected) in tuple(self._received.items()):
            await asyncio.to_thread(self._queue.progress, number, received, expected)
        while len(self._under_way) < self._settings().at_once:
            busy = self._turns.busy()
            entry = await asyncio.to_thread(self._queue.claim, self._whens(), busy_hosts=busy)
            if entry is None:
                return
            task = asyncio.create_task(self._work(entry))
            self._under_way[entry.id] = task
            task.add_done_callback(partial(self._over, entry.id))
            await asyncio.sleep(0)  # so that it has its turn at the host before the next is chosen

    def _over(self, number: int, _: object) -> None:
        self._under_way.pop(number, None)
        self._received.pop(number, None)
        self._hand_free.set()

    def _whens(self) -> tuple[When, ...]:
        """What may be fetched at this moment. While the line seems down one page tries it out, whichever is first."""
        if not self._line.may_try(time.monotonic()) or (not self._line.is_up() and self._under_way):
            return ()
        night = Night.parse(self._settings().night).holds(datetime.now().astimezone().time())
        return (When.NOW, When.LINE, When.NIGHT) if night else (When.NOW, When.LINE)

    async def _work(self, entry: FetchEntry) -> None:
        try:
            remark, received = await self._fetched(entry)
            await asyncio.to_thread(self._queue.finish, entry.id, State.DONE, error=remark, received=received)
        except FetchTrouble as trouble:
            await self._settle(entry, trouble)
        except StoreError as error:
            self._complain(error)
        except Exception as error:  # one odd page must not end the fetching
            log.exception("could not fetch %s", entry.url)
            await self._settle(entry, Passing(f"{type(error).__name__}: {error}"))

    async def _fetched(self, entry: FetchEntry) -> tuple[str, int]:
        settings = self._settings()

        def on_bytes(received: int, expected: int) -> None:
            self._line.heard(time.monotonic())
            self._received[entry.id] = (received, expected)

        limits = Limits(max_bytes=settings.max_bytes, timeout_s=settings.timeout_s)
        fetched = await self._fetcher.fetch(entry.url, limits=limits, on_bytes=on_bytes)
        self._line.heard(time.monotonic())
        if await asyncio.to_thread(self._queue.get, entry.id) is None:
            raise Refusal("taken out of the queue meanwhile")
        remark = await self._keeper.keep(fetched)
        missing = await self._parts(fetched, settings)
        told = f"{missing} of its parts could not be had" if missing else ""
        return "; ".join(filter(None, (remark, told))), len(fetched.page.body)

    async def _parts(self, fetched: Fetched, settings: FetchSettings) -> int:
        """Fetch what belongs to a page, as far as that is quick; how much could not be had."""
        wanted = await asyncio.to_thread(
            parts_of, fetched.page, limit=settings.parts, max_bytes=settings.max_bytes
        )
        limits = Limits(max_bytes=min(_PART_BYTES, settings.max_bytes), timeout_s=settings.timeout_s)
        had = 0
        with suppress(TimeoutError):
            async with asyncio.timeout(_PARTS_S):
                for url in wanted:
                    with suppress(FetchTrouble):
                        if not await self._keeper.holds(url):
                            await self._keeper.keep_part(await self._fetcher.fetch_part(url, limits=limits))
                        had += 1
        return len(wanted) - had

    async def _settle(self, entry: FetchEntry, trouble: FetchTrouble) -> None:
        """What comes of a page that was not fetched."""
        now, told = time.time(), str(trouble)
        settings = self._settings()
        if isinstance(trouble, Refusal | Lasting):
            state = State.REFUSED if isinstance(trouble, Refusal) else State.FAILED
            await asyncio.to_thread(self._queue.finish, entry.id, state, error=told)
            return
        young = now - entry.added_at.timestamp() < _OLDEST_S
        if isinstance(trouble, NoLine) and self._line.silent(time.monotonic()) and young:
            until = now + max(0.0, self._line.try_at - time.monotonic())
            await asyncio.to_thread(self._queue.postpone, entry.id, until=until, error=told, counted=False)
        elif entry.tries >= settings.tries:
            told = f"given up after {entry.tries} tries: {told}"
            await asyncio.to_thread(self._queue.finish, entry.id, State.FAILED, error=told)
        else:
            asked_s = trouble.after_s if isinstance(trouble, Passing) else 0.0
            wait_s = min(settings.retry_s * 4 ** (entry.tries - 1), _LONGEST_WAIT_S)
            await asyncio.to_thread(
                self._queue.postpone, entry.id, until=now + max(wait_s, asked_s), error=told
            )

    def _put_back(self, number: int) -> None:
        entry = self._queue.get(number)
        if entry is not None and entry.state is State.FETCHING:
            self._queue.postpone(number, until=time.time(), error=entry.error, counted=False)

    def _complain(self, error: StoreError) -> None:
        if time.monotonic() - self._complained_at > 60:
            self._complained_at = time.monotonic()
            log.error("the fetch queue cannot be used: %s", error)


def _locked(path: Path) -> int | None:
    """The lock file, held by this process from now on; None when another holds it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return lock_alone(path)
