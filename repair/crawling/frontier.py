"""The frontier: links that were seen and not fetched, each once, with all that linking pages say of it.

In memory, bounded: when there are too many, the least worth go. `repair.crawling.crawlstore` keeps it on disk.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from repair.model import Link
from repair.text import urls, words

MAX_LINKS = 20_000
_MAX_ANCHOR = 300
_MAX_CONTEXT = 600


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
    read: tuple[tuple[int, int], tuple[float, ...]] | None = field(default=None, compare=False, repr=False)
    """What its words said, and to which versions of what reads them."""
    _terms: tuple[list[str], list[str], list[str]] | None = field(default=None, compare=False, repr=False)

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
        self.read = self._terms = None

    def terms(self) -> tuple[list[str], list[str], list[str]]:
        """The terms of its anchors, of the context, and of its address."""
        if self._terms is None:
            self._terms = (
                words.terms(self.anchor) if self.anchor else [],
                words.terms(self.context) if self.context else [],
                words.terms(" ".join(urls.path_words(self.url))),
            )
        return self._terms


class Frontier:
    """Links by address."""

    def __init__(self, links: Iterable[FrontierLink] = (), *, max_links: int = MAX_LINKS) -> None:
        self._links = {link.url: link for link in links}
        self._max_links = max_links

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

    def take(self, url: str) -> None:
        """Remove a link: it is being fetched, or never will be."""
        self._links.pop(url, None)

    def best(self, *, without_hosts: Collection[str] = ()) -> FrontierLink | None:
        """The link worth most at other hosts than these."""
        open_links = (link for link in self._links.values() if link.host not in without_hosts)
        return max(open_links, key=lambda link: link.worth, default=None)

    def hosts(self) -> frozenset[str]:
        """The hosts of all links."""
        return frozenset(link.host for link in self._links.values())

    def drop_least(self) -> tuple[str, ...]:
        """Drop the links worth least if there are too many; returns their addresses."""
        if len(self._links) <= self._max_links:
            return ()
        ordered = sorted(self._links.values(), key=lambda link: link.worth, reverse=True)
        dropped = tuple(link.url for link in ordered[self._max_links * 3 // 4 :])
        for url in dropped:
            del self._links[url]
        return dropped
