"""Data for one client, stored under the id of a miss: in memory only, bounded, for a limited time.

Only the repair page shown to that client contains the id. Another client cannot use it.
"""

import time
from collections.abc import Callable
from typing import Generic, TypeVar

from proxy.privacy.fairness import FairMemory

T = TypeVar("T")


class PerClientStore(Generic[T]):
    """The latest data, each for one client."""

    def __init__(
        self, *, limit: int = 2_000, remember_s: float = 3_600.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._kept: FairMemory[str, tuple[str, T, float]] = FairMemory(limit)
        self._remember_s = remember_s
        self._clock = clock

    def note(self, miss_id: str, client: str, thing: T) -> None:
        """The client was shown a repair page with this id."""
        self._kept.put(miss_id, client, (client, thing, self._clock()))

    def of(self, miss_id: str, client: str) -> T | None:
        """The client's data under this id; None when there is none, or it is too old."""
        noted = self._kept.get(miss_id)
        if noted is None or noted[0] != client or self._clock() - noted[2] > self._remember_s:
            return None
        return noted[1]
