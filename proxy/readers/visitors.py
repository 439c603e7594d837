"""What each client looked at lately: in memory only, bounded, gone with the process.

Browsers tell only the origin of the page a click came from, so the pages a client opened last are the best clue
to where a broken link stood. What was opened after a repair page is no choice: that is a click on it.
"""

import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field

_PAGES_PER_CLIENT = 30
_LED_PER_CLIENT = 20
_ARRIVES_WITHIN_S = 60.0


@dataclass(slots=True)
class _Visitor:
    pages: deque[str] = field(default_factory=lambda: deque(maxlen=_PAGES_PER_CLIENT))
    led: OrderedDict[str, tuple[str, float]] = field(default_factory=OrderedDict)
    """Missing addresses that a rule led away from, each with where to and when."""
    expected: dict[str, str] = field(default_factory=dict)
    """Where the client is on its way to, and from which missing address."""


class Visitors:
    """The most recent pages of the most recent clients, keyed by their hashed address."""

    told_within_s = 0.0
    """How long it takes until all who serve a client know what one of them learnt."""

    def __init__(
        self,
        *,
        clients: int = 2_000,
        remember_s: float = 1_800.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._visitors: OrderedDict[str, _Visitor] = OrderedDict()
        self._clients = clients
        self._remember_s = remember_s
        self._clock = clock
        self._expects_until = float("-inf")

    def opened(self, client: str, url: str) -> None:
        """The client opened a page."""
        self._of(client).pages.append(url)

    def recent(self, client: str) -> tuple[str, ...]:
        """The pages the client opened last, latest first, each once."""
        visitor = self._visitors.get(client)
        return tuple(dict.fromkeys(reversed(visitor.pages))) if visitor else ()

    def led(self, client: str, missed: str, target: str) -> None:
        """A rule leads the client from a missing address straight to another page."""
        self._expects_until = self._clock() + _ARRIVES_WITHIN_S
        visitor = self._of(client)
        visitor.led[missed] = (target, self._clock())
        visitor.led.move_to_end(missed)
        visitor.expected[target] = missed
        while len(visitor.led) > _LED_PER_CLIENT:
            forgotten, (target, _) = visitor.led.popitem(last=False)
            if visitor.expected.get(target) == forgotten:
                del visitor.expected[target]

    def was_led(self, client: str, missed: str) -> bool:
        """Whether a rule led the client away from there lately: who comes back wants to see what else there is."""
        visitor = self._visitors.get(client)
        _, at = visitor.led.get(missed, ("", -self._remember_s)) if visitor else ("", -self._remember_s)
        return self._clock() - at < self._remember_s

    def expects(self, client: str) -> bool:
        """Whether any arrival of the client is to be told to it."""
        visitor = self._visitors.get(client)
        return visitor is not None and bool(visitor.expected)

    def expects_anybody(self) -> bool:
        """Whether anybody was led to another page a moment ago."""
        return self._clock() < self._expects_until

    def arrives(self, client: str, url: str) -> str | None:
        """The missing address from which a rule led the client to this page a moment ago; told once."""
        visitor = self._visitors.get(client)
        missed = visitor.expected.pop(url, None) if visitor else None
        if visitor is None or missed is None:
            return None
        _, at = visitor.led.get(missed, ("", -_ARRIVES_WITHIN_S))
        return missed if self._clock() - at < _ARRIVES_WITHIN_S else None

    def _of(self, client: str) -> _Visitor:
        visitor = self._visitors.get(client)
        if visitor is None:
            visitor = self._visitors[client] = _Visitor()
            while len(self._visitors) > self._clients:
                self._visitors.popitem(last=False)
        self._visitors.move_to_end(client)
        return visitor
