"""What a crawl asks of the place where its frontier is kept, whether it crawls alone or with other machines.

`repair.crawling.crawlstore` keeps it in SQLite for one machine, `proxy.district.crawling` in PostgreSQL for many. A
crawl behaves alike with both: alone it just never hears of others.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from repair.crawling.frontier import FrontierLink
from repair.text import urls


class LinkState(StrEnum):
    """What became of a link. A `held` page was in the collection already and cost nothing."""

    WAITING = "waiting"
    FETCHING = "fetching"
    FETCHED = "fetched"
    HELD = "held"
    FAILED = "failed"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class VisitedLink:
    """A link that came to an end; `probability` and `fingerprint` are None where no page was read."""

    link: FrontierLink
    state: LinkState
    final_url: str
    probability: float | None
    fingerprint: int | None
    received: int
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlCounts:
    """How far the crawl of a topic is; `received` is bytes."""

    states: dict[LinkState, int]
    received: int

    @property
    def fetched(self) -> int:
        """Pages that were fetched."""
        return self.states[LinkState.FETCHED]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedLinks:
    """The answer to a claim: `tries` of the links that may be fetched now, this time included. At hosts in `closed`
    another machine is at work, or the site asked for rest: seconds until it is worth asking again. Links in `later`
    are due at that time. All other links have been taken."""

    tries: Mapping[str, int]
    closed: Mapping[str, float] = field(default_factory=dict)
    later: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontierNews:
    """What other machines did since it was asked for last. `waiting` are links that they found or know more of, and
    when each is due; `taken` those that they are fetching, `under_way` of them at this moment."""

    visited: Sequence[VisitedLink] = ()
    waiting: Sequence[tuple[FrontierLink, float]] = ()
    taken: Sequence[str] = ()
    under_way: int = 0


class FrontierStore(Protocol):
    """The frontier of one topic. Methods block, and may be called from any thread, one at a time."""

    def together(self) -> AbstractContextManager[None]:
        """What is recorded in the block is committed at its end, all or nothing."""

    def recover(self, *, max_tries: int) -> int:
        """Make links due again whose process died; returns how many. One that was tried so often is given up."""

    def put(self, links: Iterable[FrontierLink]) -> None:
        """Record new links, and what is newly known of waiting ones."""

    def claim(self, links: Sequence[FrontierLink]) -> ClaimedLinks:
        """Start links, as far as nobody else has them."""

    def finish(self, visited: VisitedLink, found: Sequence[FrontierLink] = ()) -> None:
        """Record what became of a link, together with the links on its page."""

    def postpone(self, url: str, *, until: float, note: str, counted: bool = True) -> None:
        """Try again later; a try that is not `counted` is taken back."""

    def drop(self, addresses: Sequence[str]) -> None:
        """Forget links that are not worth keeping."""

    def waiting(self) -> Sequence[tuple[FrontierLink, float]]:
        """The links that wait, and when each is due."""

    def visited(self) -> Sequence[VisitedLink]:
        """The links that came to an end, in that order."""

    def counts(self) -> CrawlCounts:
        """How far the crawl is."""

    def news(self) -> FrontierNews:
        """What other machines did since the last call, or since the links were read."""


def link_of_row(row: Sequence[Any]) -> FrontierLink:
    """A link as every store keeps it, with its columns in this order; its host is that of its address."""
    url, depth, anchor, context, parents, good_parents, best, total, nav, worth = row
    return FrontierLink(
        url=url,
        host=urls.parse(url).authority,
        depth=depth,
        anchor=anchor,
        context=context,
        parents=parents,
        good_parents=good_parents,
        best=best,
        total=total,
        nav=bool(nav),
        worth=worth,
    )
