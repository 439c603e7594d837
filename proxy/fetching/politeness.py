"""Politeness: a bandwidth limit over all fetches, and one request at a time to each host, with a pause between.

For one event loop.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from proxy.fetching.entries import TemporaryFetchError
from proxy.fetching.hostturns import Turns
from repair.locks import lock_alone

BANDWIDTH_FILE = "bandwidth.lock"
"""In the folder of the fetch queue: what all processes that fetch share."""

_MAX_HOSTS = 1_000
_LONGEST_AHEAD_S = 600.0
_LONGEST_WAIT_S = 60.0  # for a host that asked for rest; later is another time


class Bandwidth:
    """Limits bytes a second; `rate` is read each time, 0 for no limit. With a `shared` file, over all processes that
    share it: it says when the line is free again, by the clock that all processes of a machine have in common."""

    def __init__(
        self,
        rate: Callable[[], int],
        clock: Callable[[], float] = time.monotonic,
        *,
        shared: Path | None = None,
    ) -> None:
        self._rate = rate
        self._clock = clock
        self._shared = shared
        self._free_at = 0.0

    def take(self, count: int) -> float:
        """The seconds to wait after `count` more bytes, over all fetches."""
        rate = self._rate()
        if rate <= 0:
            return 0.0
        now = self._clock()
        with self._line() as handle:
            free_at = max(self._free_at, _read_moment(handle, now) if handle is not None else 0.0)
            self._free_at = max(now, free_at) + count / rate
            if handle is not None:
                os.pwrite(handle, f"{self._free_at:020.6f}".encode(), 0)
        return self._free_at - now

    @contextmanager
    def _line(self) -> Iterator[int | None]:
        """The locked file; None when there is none, or another process has it at this moment."""
        handle = lock_alone(self._shared) if self._shared is not None else None
        try:
            yield handle
        finally:
            if handle is not None:
                os.close(handle)


def _read_moment(handle: int, now: float) -> float:
    """When the line is free; a moment far off is from before the machine started anew."""
    try:
        moment = float(os.pread(handle, 40, 0))
    except ValueError:
        return 0.0  # new, or cut off
    return moment if moment < now + _LONGEST_AHEAD_S else 0.0


@dataclass(slots=True)
class _HostSlot:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    free_at: float = 0.0
    waiting: int = 0


class HostSlots:
    """One slot for each host; with `turns`, shared with other processes."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, *, turns: Turns | None = None) -> None:
        self._clock = clock
        self._turns = turns
        self._slots: dict[str, _HostSlot] = {}

    @asynccontextmanager
    async def at(self, host: str, *, pause_s: float) -> AsyncIterator[None]:
        """Hold the slot of a host, after the pause that the last request set.

        Raises TemporaryFetchError when the host asked to be left alone for longer.
        """
        slot = self._slots.setdefault(host, _HostSlot())
        if (rest_s := slot.free_at - self._clock()) > max(pause_s, _LONGEST_WAIT_S):
            raise TemporaryFetchError("the site asks us to wait", after_s=rest_s)
        slot.waiting += 1
        try:
            async with slot.lock:
                await asyncio.sleep(max(0.0, slot.free_at - self._clock()))
                try:
                    async with self._turns.at(host, pause_s=pause_s) if self._turns else nullcontext():
                        yield
                finally:
                    slot.free_at = max(slot.free_at, self._clock() + pause_s)
        finally:
            slot.waiting -= 1
            self._forget_idle()

    async def rest(self, host: str, after_s: float) -> None:
        """Leave a host alone for a while, as it asked, in other processes too."""
        self.leave(host, after_s)
        if self._turns is not None:
            await self._turns.rest(host, after_s)

    def leave(self, host: str, after_s: float) -> None:
        """Ask a host for nothing more in this process for a while."""
        slot = self._slots.setdefault(host, _HostSlot())
        slot.free_at = max(slot.free_at, self._clock() + after_s)

    def busy(self, *, for_s: float = 0.0) -> frozenset[str]:
        """Hosts with a request in progress or a pause after one; with `for_s`, those that rest for so long still."""
        now = self._clock() + for_s
        if for_s:
            return frozenset(host for host, slot in self._slots.items() if slot.free_at > now)
        return frozenset(host for host, slot in self._slots.items() if slot.waiting or slot.free_at > now)

    def _forget_idle(self) -> None:
        if len(self._slots) > _MAX_HOSTS:
            busy = self.busy()
            self._slots = {host: slot for host, slot in self._slots.items() if host in busy}
