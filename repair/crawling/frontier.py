"""The frontier: links that were seen and not fetched, each once, with all that linking pages say of it.

In memory, bounded: when there are too many, the least worth go. `repair.crawling.crawlstore` keeps it on disk.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

from repair.crawling.termcodes import CountedTerms, Numbers
from repair.model import Link

MAX_LINKS = 20_000
_MAX_ANCHOR = 300
_MAX_CONTEXT = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkReading:
    """The words of a link as models read them: its `anchor`, its `context`, its address. `named` are the words of
    the topic in the address; `match` says how well they and the anchor match the topic."""

    anchor: str
    context: str
    texts: tuple[CountedTerms, CountedTerms, CountedTerms]
    named: list[str]
    match: float


@dataclass(slots=True, kw_only=True)
class FrontierLink:
    """A link not yet fetched. `parents` pages link to it, `good_parents` of which belong to the topic; `best` and
    `total` are the highest and the sum of their probabilities. `depth` counts links from a seed."""

    url: str
    host: str
    depth: int = 0
    anchor: str = ""
    context: str = ""
    parents: int = 0
    good_parents: int = 0
    best: float = 0.0
    total: float = 0.0
    nav: bool = False
    worth: float = 0.0
    reading: LinkReading | None = field(default=None, compare=False, repr=False)
    features: Numbers | None = field(default=None, compare=False, repr=False)
    """What was known when it was weighed last."""

    def note_parent(self, link: Link, probability: float, *, belongs: bool) -> None:
        """Take in what one more page says: its anchor, and its context if it is the likeliest page so far."""
        if link.anchor and link.anchor not in self.anchor:
            self.anchor = f"{self.anchor} {link.anchor}".strip()[:_MAX_ANCHOR]
        if probability >= self.best:
            self.context = f"{link.before} {link.after}".strip()[:_MAX_CONTEXT]
        self.nav = link.nav and (self.nav or not self.parents)
        self.parents += 1
        self.good_parents += belongs
        self.best = max(self.best, probability)
        self.total += probability


class Frontier:
    """Links by address, and a heap of them for each host. An entry of a heap counts while its link has that worth."""

    def __init__(self, links: Iterable[FrontierLink] = (), *, max_links: int = MAX_LINKS) -> None:
        self._links = {link.url: link for link in links}
        self._max_links = max_links
        self._heaps: dict[str, list[tuple[float, str]]] = {}
        self._order_all()

    def __len__(self) -> int:
        return len(self._links)

    def __iter__(self) -> Iterator[FrontierLink]:
        return iter(self._links.values())

    def get(self, url: str) -> FrontierLink | None:
        """The link to an address."""
        return self._links.get(url)

    def put(self, link: FrontierLink) -> None:
        """Add a link."""
        self._links[link.url] = link
        heappush(self._heaps.setdefault(link.host, []), (-link.worth, link.url))

    def take(self, url: str) -> None:
        """Remove a link: it is being fetched, or never will be."""
        self._links.pop(url, None)

    def reorder(self, links: Sequence[FrontierLink]) -> None:
        """Take note that the worth of these links has changed."""
        if 2 * len(links) > len(self._links):
            self._order_all()
            return
        for link in links:
            heappush(self._heaps.setdefault(link.host, []), (-link.worth, link.url))

    def best(self, *, without_hosts: Collection[str] = ()) -> FrontierLink | None:
        """The link worth most at other hosts than these."""
        firsts = (self._first(host) for host in list(self._heaps) if host not in without_hosts)
        return max((link for link in firsts if link), key=lambda link: link.worth, default=None)

    def hosts(self) -> frozenset[str]:
        """The hosts of all links."""
        return frozenset(host for host in list(self._heaps) if self._first(host))

    def drop_least(self) -> tuple[str, ...]:
        """Drop the links worth least if there are too many; returns their addresses."""
        if len(self._links) <= self._max_links:
            return ()
        ordered = sorted(self._links.values(), key=lambda link: link.worth, reverse=True)
        dropped = tuple(link.url for link in ordered[self._max_links * 3 // 4 :])
        for url in dropped:
            del self._links[url]
        self._order_all()
        return dropped

    def _first(self, host: str) -> FrontierLink | None:
        """The link worth most at a host."""
        heap = self._heaps[host]
        while heap:
            worth, url = heap[0]
            link = self._links.get(url)
            if link is not None and link.worth == -worth:
                return link
            heappop(heap)
        del self._heaps[host]
        return None

    def _order_all(self) -> None:
        self._heaps = {}
        for link in self._links.values():
            self._heaps.setdefault(link.host, []).append((-link.worth, link.url))
        for heap in self._heaps.values():
            heapify(heap)
