"""One origin fetch for many identical requests: the first leads, the others wait until it lands.

For one event loop. Nothing is promised about what the leader brings: whoever waited looks into the cache again.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class _Flight:
    started_at: float
    landed: asyncio.Event = field(default_factory=asyncio.Event)
    overdue: asyncio.Event = field(default_factory=asyncio.Event)


class Flights:
    """Who fetches what. A flight that nobody lands is forgotten after `lost_after_s`."""

    def __init__(self, *, lost_after_s: float = 600.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._lost_after_s = lost_after_s
        self._clock = clock
        self._flying: dict[str, _Flight] = {}

    def lead(self, key: str) -> bool:
        """True: you fetch, and call `land` when done or when others need not wait. False: someone does already."""
        now = self._clock()
        self._forget_lost(now)
        flight = self._flying.get(key)
        if flight is None:
            self._flying[key] = _Flight(started_at=now)
            return True
        if not flight.overdue.is_set():
            return False
        # Taken over: those who still wait for the first leader are released by whichever of the two lands first.
        del self._flying[key]
        self._flying[key] = _Flight(started_at=now, landed=flight.landed)
        return True

    async def wait(self, key: str, timeout_s: float) -> bool:
        """True when the flight has landed or there is none; False when that took too long.

        After False the flight counts as overdue, its leader perhaps dead: the next to call `lead` takes it over.
        """
        flight = self._flying.get(key)
        if flight is None:
            return True
        try:
            async with asyncio.timeout(timeout_s):
                await flight.landed.wait()
        except TimeoutError:
            flight.overdue.set()
            return False
        return True

    def land(self, key: str) -> None:
        """Releases all who wait. May be called again, and by a leader whose flight was taken over."""
        flight = self._flying.pop(key, None)
        if flight is not None:
            flight.landed.set()

    def __len__(self) -> int:
        return len(self._flying)

    def _forget_lost(self, now: float) -> None:
        # Insertion order is the order of departure, so the lost ones are all in front.
        while self._flying:
            key, flight = next(iter(self._flying.items()))
            if now - flight.started_at < self._lost_after_s:
                return
            self.land(key)
