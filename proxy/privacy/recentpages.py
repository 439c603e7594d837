"""The recent pages of each client: in memory only, bounded, lost at a restart.

Browsers send only the origin of the page with the link, so the client's recent pages are the best evidence for the
source page of a broken link. They are not used as choices: only clicks on the repair page are.
"""

import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field

from proxy.privacy.fairness import FairMemory

_PAGES_PER_CLIENT = 30
_REDIRECTS_PER_CLIENT = 20
_ARRIVES_WITHIN_S = 60.0


@dataclass(slots=True)
class _ClientPages:
    pages: deque[str] = field(default_factory=lambda: deque(maxlen=_PAGES_PER_CLIENT))
    redirected: OrderedDict[str, tuple[str, float]] = field(default_factory=OrderedDict)
    """Missing addresses that a rule redirected, each with target and time."""
    expected: dict[str, str] = field(default_factory=dict)
    """Targets that the client has not opened yet, each with its missing address."""


class RecentPages:
    """The most recent pages of the most recent clients, keyed by their hashed address."""

    update_delay_s = 0.0
    """How long it takes until all workers know what one of them noted."""

    def __init__(
        self,
        *,
        clients: int = 2_000,
        remember_s: float = 1_800.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._by_client: FairMemory[str, _ClientPages] = FairMemory(clients)
        self._remember_s = remember_s
        self._clock = clock
        self._expects_until = float("-inf")

    def note_page(self, client: str, url: str) -> bool:
        """The client opened a page; False when it is the one it opened last."""
        known = self._by_client.get(client)
        if known is not None and known.pages and known.pages[-1] == url:
            return False
        self._of(client).pages.append(url)
        return True

    def recent(self, client: str) -> tuple[str, ...]:
        """The pages the client opened last, latest first, each once."""
        known = self._by_client.get(client)
        return tuple(dict.fromkeys(reversed(known.pages))) if known else ()

    def note_redirect(self, client: str, missed: str, target: str) -> None:
        """Note that a rule redirects the client from a missing address to another page."""
        self._expects_until = self._clock() + _ARRIVES_WITHIN_S
        known = self._of(client)
        known.redirected[missed] = (target, self._clock())
        known.redirected.move_to_end(missed)
        known.expected[target] = missed
        while len(known.redirected) > _REDIRECTS_PER_CLIENT:
            forgotten, (target, _) = known.redirected.popitem(last=False)
            if known.expected.get(target) == forgotten:
                del known.expected[target]

    def was_redirected(self, client: str, missed: str) -> bool:
        """Whether a rule redirected the client from there lately: a user who comes back wants the alternatives."""
        known = self._by_client.get(client)
        _, at = known.redirected.get(missed, ("", -self._remember_s)) if known else ("", -self._remember_s)
        return self._clock() - at < self._remember_s

    def expects(self, client: str) -> bool:
        """Whether the client has not arrived yet at a redirect's target."""
        known = self._by_client.get(client)
        return known is not None and bool(known.expected)

    def expects_arrivals(self) -> bool:
        """Whether any client was redirected a moment ago."""
        return self._clock() < self._expects_until

    def take_arrival(self, client: str, url: str) -> str | None:
        """The missing address from which a rule redirected the client to this page a moment ago; returned once."""
        known = self._by_client.get(client)
        missed = known.expected.pop(url, None) if known else None
        if known is None or missed is None:
            return None
        _, at = known.redirected.get(missed, ("", -_ARRIVES_WITHIN_S))
        return missed if self._clock() - at < _ARRIVES_WITHIN_S else None

    def _of(self, client: str) -> _ClientPages:
        known = self._by_client.get(client) or _ClientPages()
        self._by_client.put(client, client, known)
        return known
