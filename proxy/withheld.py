"""Pages that readers did not get to see because they were taken for missing: in memory only, bounded.

Each is kept under the id of its miss, which only the repair page shown to that reader knows. So the way to see the
page anyway can be taken by that reader alone, and leads nowhere else.
"""

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from repair.model import MissKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Withheld:
    """A page taken for missing: `missed` is the address that was asked for, `url` where redirects from it ended."""

    kind: MissKind
    missed: str
    url: str
    sketch: tuple[int, ...] = ()


class WithheldPages:
    """The latest pages withheld, each for the client that asked for it."""

    def __init__(
        self, *, limit: int = 2_000, remember_s: float = 3_600.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._pages: OrderedDict[str, tuple[str, Withheld, float]] = OrderedDict()
        self._limit = limit
        self._remember_s = remember_s
        self._clock = clock

    def note(self, miss_id: str, client: str, page: Withheld) -> None:
        """The client was shown a repair page instead."""
        self._pages[miss_id] = (client, page, self._clock())
        while len(self._pages) > self._limit:
            self._pages.popitem(last=False)

    def of(self, miss_id: str, client: str) -> Withheld | None:
        """The page withheld from this client under this id; None when there is none, or it is too long ago."""
        noted = self._pages.get(miss_id)
        if noted is None or noted[0] != client or self._clock() - noted[2] > self._remember_s:
            return None
        return noted[1]
