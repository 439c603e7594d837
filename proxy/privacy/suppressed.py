"""Pages that a repair page replaced: those that looked like error pages, and the error pages of sites.

Each is noted for its client only, so that no other client can use the link to see the page anyway. The page itself is
not kept: who wants to see it gets leave to fetch it once more, and linkmend passes it on as the site sends it.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

from proxy.privacy.fairness import FairMemory
from proxy.privacy.perclient import PerClientStore
from repair.model import MissKind

_LEAVE_S = 60.0
_MAX_LEAVES = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SuppressedPage:
    """A page that a repair page replaced: `missed` is the requested address, `url` the one after redirects."""

    kind: MissKind
    missed: str
    url: str
    sketch: tuple[int, ...] = ()


class SuppressedPages(PerClientStore[SuppressedPage]):
    """The latest suppressed pages, each for the client that requested it."""

    update_delay_s = 0.0
    """How long it takes until all workers know what one of them noted."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(clock=clock)
        self._leaves: FairMemory[tuple[str, str], float] = FairMemory(_MAX_LEAVES)

    def give_leave(self, client: str, url: str) -> None:
        """For a minute the client gets what the site sends under this address."""
        self._leaves.put((client, url), client, self._clock())

    def has_leave(self, client: str, url: str) -> bool:
        """Whether the client has just asked for the site's own page."""
        given_at = self._leaves.get((client, url))
        return given_at is not None and self._clock() - given_at <= _LEAVE_S
