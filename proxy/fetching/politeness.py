"""Politeness: bytes a second over all fetches together, and each host asked by one at a time, with a pause between.

For one event loop.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

_MAX_HOSTS = 1_000


class Bandwidth:
    """Shares out bytes a second; `rate` is asked each time, 0 for no limit."""

    def __init__(self, rate: Callable[[], int], clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._clock = clock
        self._free_at = 0.0

    def take(self, count: int) -> float:
        """The seconds to wait after so many bytes have come, all fetches considered."""
        rate = self._rate()
        if rate <= 0:
            return 0.0
        now = self._clock()
        self._free_at = max(now, self._free_at) + count / rate
        return self._free_at - now


@dataclass(slots=True)
class _Turn:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    free_at: float = 0.0
    waiting: int = 0


class Turns:
    """Whose turn it is at each host."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._turns: dict[str, _Turn] = {}

    @asynccontextmanager
    async def at(self, host: str, *, pause_s: float) -> AsyncIterator[None]:
        """Alone at a host, and no sooner than the last one wished."""
        turn = self._turns.setdefault(host, _Turn())
        turn.waiting += 1
        try:
            async with turn.lock:
                await asyncio.sleep(max(0.0, turn.free_at - self._clock()))
                try:
                    yield
                finally:
                    turn.free_at = self._clock() + pause_s
        finally:
            turn.waiting -= 1
            self._forget_idle()

    def busy(self) -> frozenset[str]:
        """Hosts that are being asked, or were a moment ago."""
        now = self._clock()
        return frozenset(host for host, turn in self._turns.items() if turn.waiting or turn.free_at > now)

    def _forget_idle(self) -> None:
        if len(self._turns) > _MAX_HOSTS:
            busy = self.busy()
            self._turns = {host: turn for host, turn in self._turns.items() if host in busy}
