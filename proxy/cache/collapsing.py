"""Request collapsing: one origin fetch for many identical requests. The first leads, the others wait until it ends.

Across the workers of a machine, too: a leader holds a lease that all workers see (`proxy/cache/leases.py`). The
leader's response may not be usable: a request that waited looks into the cache again.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from proxy.cache.leases import FetchLeases, NoLeases

_LOOK_S, _LOOK_AT_MOST_S = 0.002, 0.05  # how long to sleep between looks at another worker's lease


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fetch:
    started_at: float
    finished: asyncio.Event = field(default_factory=asyncio.Event)
    overdue: asyncio.Event = field(default_factory=asyncio.Event)


class RequestCollapser:
    """The fetches in progress, by key. One that is never finished is forgotten after `lost_after_s`."""

    def __init__(
        self,
        leases: FetchLeases | None = None,
        *,
        lost_after_s: float = 600.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._leases = leases or NoLeases()
        self._lost_after_s = lost_after_s
        self._clock = clock
        self._fetches: dict[str, _Fetch] = {}

    def lead(self, key: str) -> bool:
        """True: you fetch, and call `finish` when done or when others need not wait. False: someone does already."""
        now = self._clock()
        self._forget_lost(now)
        fetch = self._fetches.get(key)
        if fetch is None:
            if not self._leases.take(key):
                return False
            self._fetches[key] = _Fetch(started_at=now)
            return True
        if not fetch.overdue.is_set():
            return False
        # Taken over: those who still wait for the first leader are released by whichever of the two finishes first.
        del self._fetches[key]
        self._fetches[key] = _Fetch(started_at=now, finished=fetch.finished)
        return True

    async def wait(self, key: str, timeout_s: float) -> bool:
        """True when the fetch has ended or there is none; False when that took too long.

        After False the fetch counts as overdue, its leader perhaps dead: the next to call `lead` takes it over.
        """
        fetch = self._fetches.get(key)
        try:
            async with asyncio.timeout(timeout_s):
                await (self._wait_for_other_worker(key) if fetch is None else fetch.finished.wait())
        except TimeoutError:
            if fetch is None:
                self._leases.revoke(key)
            else:
                fetch.overdue.set()
            return False
        return True

    async def _wait_for_other_worker(self, key: str) -> None:
        pause_s = _LOOK_S
        while self._leases.is_taken(key):
            await asyncio.sleep(pause_s)
            pause_s = min(1.5 * pause_s, _LOOK_AT_MOST_S)

    def finish(self, key: str) -> None:
        """Release all requests that wait. May be called again, and by a leader whose fetch was taken over."""
        if self.finish_here(key):
            self._leases.free(key)

    def finish_here(self, key: str) -> bool:
        """As `finish`, but those in other workers wait until `finish_elsewhere`; whether there was such a fetch."""
        fetch = self._fetches.pop(key, None)
        if fetch is not None:
            fetch.finished.set()
        return fetch is not None

    def finish_elsewhere(self, key: str) -> None:
        """Release those in other workers, unless the same is fetched here again."""
        if key not in self._fetches:
            self._leases.free(key)

    def __len__(self) -> int:
        return len(self._fetches)

    def _forget_lost(self, now: float) -> None:
        # Insertion order is the order of their start, so the lost ones are all in front.
        while self._fetches:
            key, fetch = next(iter(self._fetches.items()))
            if now - fetch.started_at < self._lost_after_s:
                return
            self.finish(key)
