"""Things that are one reader's own, under the id of a miss: in memory only, bounded, for a while.

Only the repair page shown to that reader knows the id, and whoever else learns it is another client.
"""

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class ForReader(Generic[T]):
    """The latest of such things, each for the client that it was noted for."""

    def __init__(
        self, *, limit: int = 2_000, remember_s: float = 3_600.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._kept: OrderedDict[str, tuple[str, T, float]] = OrderedDict()
        self._limit = limit
        self._remember_s = remember_s
        self._clock = clock

    def note(self, miss_id: str, client: str, thing: T) -> None:
        """The client was shown a repair page with this id."""
        self._kept[miss_id] = (client, thing, self._clock())
        while len(self._kept) > self._limit:
            self._kept.popitem(last=False)

    def of(self, miss_id: str, client: str) -> T | None:
        """What is this client's under this id; None when there is nothing, or it is too long ago."""
        noted = self._kept.get(miss_id)
        if noted is None or noted[0] != client or self._clock() - noted[2] > self._remember_s:
            return None
        return noted[1]
