"""Pages that came too late for a repair page: its script asks for them, and they are added below what is there.

What the reader sees stays where it is. Only pages that a wider ranking puts among the first are added; the rest is
there when the page is loaded again. The wider ranking starts when somebody asks, not with the page: whoever loads a
page and leaves costs nobody anything, and the page itself is made as fast as without a district.
"""

import logging
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from proxy.pages.language import choose
from proxy.pages.latepage import LateFindings, late_page, late_part
from proxy.pages.render import RenderedPage
from proxy.pages.repairpage import SHOWN_FIRST, RepairPageContext
from proxy.portal.routemodel import LateOffersRoute
from proxy.privacy.perclient import PerClientStore
from repair.model import Alternative, BrokenLink, RankedAlternatives
from repair.secrets.addresses import has_secret, without_secret

log = logging.getLogger(__name__)

K = TypeVar("K")

OnLateOffers = Callable[[str, str, int, tuple[str, ...]], None]
"""Called with the id of a miss, the client, the number of the first page that was added, and the pages' URLs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _ShownPage(Generic[K]):
    """A repair page that a reader has: its link, what it lists, the number that comes next, and by which key and for
    which device more is ranked. `looks` are digests of what is seen of a page: there may be thousands of these.
    `added` are the URLs that were added, in the order of their numbers."""

    link: BrokenLink
    urls: frozenset[str]
    looks: frozenset[int]
    next_number: int
    key: K
    device: str
    framed: bool
    portal: bool
    offline: bool
    added: tuple[str, ...] = ()


class LateOffers(Generic[K]):
    """Adds to the repair pages that readers have, each only for its own reader."""

    def __init__(
        self, rank: Callable[[K, str], Awaitable[RankedAlternatives]], on_late: OnLateOffers
    ) -> None:
        """`rank` makes the wider list; it may raise TimeoutError."""
        self._rank = rank
        self._on_late = on_late
        self._shown: PerClientStore[_ShownPage[K]] = PerClientStore()

    def note(
        self, context: RepairPageContext, client: str, found: RankedAlternatives, key: K, device: str
    ) -> None:
        """A client gets a repair page, and may ask for what comes later."""
        shown = _ShownPage(
            link=found.link,
            urls=frozenset((found.link.url, *(each.url for each in found.alternatives))),
            looks=frozenset(map(_look, found.alternatives)),
            # As the miss log counts what was offered.
            next_number=len(found.alternatives) + len(found.shortened) + 1,
            key=key,
            device=device,
            framed=context.framed,
            portal=context.portal,
            offline=context.offline,
        )
        self._shown.note(context.miss_id, client, shown)

    async def answer(self, call: LateOffersRoute, language: str, client: str) -> RenderedPage | None:
        """What is to be added to this client's page; None for another client's."""
        shown = self._shown.of(call.miss_id, client)
        if shown is None:
            return None
        try:
            wide = (await self._rank(shown.key, shown.device)).alternatives
        except TimeoutError:
            log.info("district: nothing in time for %s", without_secret(shown.link.url))
            wide = ()
        shown = self._shown.of(call.miss_id, client) or shown  # asked again, it may have been told meanwhile
        offers = late_offers(wide, urls=shown.urls, looks=shown.looks)
        if shown.added:
            # A number stands for one page, or a click would count for another page than it was meant for.
            offers = tuple(each for each in offers if each.url in shown.added)
        elif offers:
            shown = replace(shown, added=tuple(each.url for each in offers))
            self._shown.note(call.miss_id, client, shown)
            if not has_secret(shown.link.url):
                self._on_late(call.miss_id, client, shown.next_number, shown.added)
        findings = LateFindings(
            link=shown.link,
            offers=offers,
            numbers=tuple(shown.next_number + shown.added.index(each.url) for each in offers),
            is_best=bool(offers) and offers[0] == wide[0],
            miss_id="" if shown.framed else call.miss_id,
            offline=shown.offline,
        )
        texts = choose(language)
        return late_part(findings, texts) if call.part else late_page(findings, texts, portal=shown.portal)


def late_offers(
    wide: Sequence[Alternative], *, urls: Collection[str], looks: Collection[int]
) -> tuple[Alternative, ...]:
    """Which pages of a wider list come first in it, and are not shown yet, nor another that looks the same."""
    return tuple(each for each in wide[:SHOWN_FIRST] if each.url not in urls and _look(each) not in looks)


def _look(alternative: Alternative) -> int:
    return hash((alternative.title, alternative.snippet))
