"""What each client looked at and was offered lately: in memory only, bounded, gone with the process.

Browsers tell only the origin of the page a click came from, so the pages a client opened last are the best clue
to where a broken link stood; and a click on an offered page is known by the request that follows.
"""

import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field

_PAGES_PER_CLIENT = 30
_OFFERS_PER_CLIENT = 60


@dataclass(slots=True)
class _Visitor:
    pages: deque[str] = field(default_factory=lambda: deque(maxlen=_PAGES_PER_CLIENT))
    offers: OrderedDict[str, tuple[str, float]] = field(default_factory=OrderedDict)


class Visitors:
    """The most recent pages and offers of the most recent clients, keyed by their hashed address."""

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

    def opened(self, client: str, url: str) -> None:
        """The client opened a page."""
        self._of(client).pages.append(url)

    def recent(self, client: str) -> tuple[str, ...]:
        """The pages the client opened last, latest first, each once."""
        visitor = self._visitors.get(client)
        return tuple(dict.fromkeys(reversed(visitor.pages))) if visitor else ()

    def offered(self, client: str, miss_id: str, urls: tuple[str, ...]) -> None:
        """The client was shown a repair page with these addresses."""
        offers = self._of(client).offers
        for url in urls:
            offers[url] = (miss_id, self._clock())
            offers.move_to_end(url)
        while len(offers) > _OFFERS_PER_CLIENT:
            offers.popitem(last=False)

    def chose(self, client: str, url: str) -> str | None:
        """The miss that a request for `url` answers, once; None when it was not offered to this client lately."""
        visitor = self._visitors.get(client)
        offer = visitor.offers.pop(url, None) if visitor else None
        if offer is None or self._clock() - offer[1] > self._remember_s:
            return None
        return offer[0]

    def _of(self, client: str) -> _Visitor:
        visitor = self._visitors.setdefault(client, _Visitor())
        self._visitors.move_to_end(client)
        while len(self._visitors) > self._clients:
            self._visitors.popitem(last=False)
        return visitor
