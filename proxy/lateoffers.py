"""Pages that came too late for a repair page: its script asks for them, and they are added below what is there.

What the reader sees stays where it is. Only pages that a wider ranking puts among the first are added; the rest is
there when the page is loaded again. The wider ranking starts when somebody asks, not with the page: whoever loads a
page and leaves costs nobody anything, and the page itself is made as fast as without a district.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from proxy.pages.language import choose
from proxy.pages.latepage import LateFindings, late_page, late_part
from proxy.pages.render import RenderedPage
from proxy.pages.repairpage import SHOWN_FIRST, RepairPageContext
from proxy.portal.routemodel import LateOffersRoute
from proxy.privacy.perclient import PerClientStore
from repair.model import Alternative, RankedAlternatives
from repair.secrets.addresses import has_secret, without_secret

log = logging.getLogger(__name__)

K = TypeVar("K")

OnLateOffers = Callable[[str, str, int, tuple[str, ...]], None]
"""Called with the id of a miss, the client, the number of the first page that was added, and the pages' URLs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _ShownPage(Generic[K]):
    """A repair page that a reader has: what it lists, and by which key and for which device more is ranked."""

    found: RankedAlternatives
    key: K
    device: str
    framed: bool
    portal: bool


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
        shown = _ShownPage(found=found, key=key, device=device, framed=context.framed, portal=context.portal)
        self._shown.note(context.miss_id, client, shown)

    async def answer(self, call: LateOffersRoute, language: str, client: str) -> RenderedPage | None:
        """What is to be added to this client's page; None for another client's."""
        shown = self._shown.of(call.miss_id, client)
        if shown is None:
            return None
        try:
            wide = await self._rank(shown.key, shown.device)
        except TimeoutError:
            log.info("district: nothing in time for %s", without_secret(shown.found.link.url))
            wide = shown.found
        offers = late_offers(wide, shown.found.alternatives)
        number = self._note_offers(call.miss_id, client, shown, offers)
        findings = LateFindings(
            link=shown.found.link,
            offers=offers,
            first_number=number,
            is_best=bool(offers) and offers[0] == wide.alternatives[0],
            miss_id="" if shown.framed else call.miss_id,
        )
        texts = choose(language)
        return late_part(findings, texts) if call.part else late_page(findings, texts, portal=shown.portal)

    def _note_offers(
        self, miss_id: str, client: str, shown: _ShownPage[K], offers: Sequence[Alternative]
    ) -> int:
        """The number of the first: they follow those that the miss log has."""
        found = shown.found
        number = len(found.alternatives) + len(found.shortened) + 1
        if offers and not has_secret(found.link.url):
            self._on_late(miss_id, client, number, tuple(each.url for each in offers))
        return number


def late_offers(wide: RankedAlternatives, shown: Sequence[Alternative]) -> tuple[Alternative, ...]:
    """Which pages of a wider list come first in it, and are not shown yet, nor another that looks the same."""
    urls = {wide.link.url, *(each.url for each in shown)}
    looks = {(each.title, each.snippet) for each in shown}
    first = wide.alternatives[:SHOWN_FIRST]
    return tuple(each for each in first if each.url not in urls and (each.title, each.snippet) not in looks)
