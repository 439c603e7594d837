"""From a miss to its repair page, in one go and where the stores are.

Whoever carries traffic asks once and gets bytes: to rank and to draw a page takes longer than many ordinary answers,
and none of it may happen where readers wait for those.
"""

import asyncio
import logging
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Protocol

from proxy.archives.findings import Findings
from proxy.pages.render import RenderedPage
from proxy.pages.repairpage import PageContext, render
from proxy.readers.privacy import shareable_url
from repair.errors import RepairError
from repair.memento.model import TimeMap
from repair.model import BrokenLink, Click, RankedAlternatives
from repair.turns import HeldPages, Repairs, TooMany, Turns, at_hand

log = logging.getLogger(__name__)

REMEMBER_S = 0.5
"""What was remembered of archives is worth no longer wait; the page's script asks for it again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Miss:
    """A page that a reader missed, and how the page instead of it is to look.

    `ask` says whether archives may be asked about it, None that they may not even be looked up. `device` is a code
    of whose turn it is when many wait.
    """

    link: BrokenLink
    click: Click
    client: str
    ask: bool | None
    context: PageContext
    device: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mended:
    """What is offered, and the page that says so."""

    found: RankedAlternatives
    page: RenderedPage


def bare(miss: Miss) -> Mended:
    """The page for a miss of which nothing is known, for who cannot ask those who know."""
    found = RankedAlternatives(link=miss.link)
    findings = Findings(link=miss.link, found=TimeMap(url=miss.link.url)) if miss.ask else None
    return Mended(found=found, page=render(found, replace(miss.context, findings=findings)))


class Archives(Protocol):
    """Who knows archived versions."""

    def note(self, miss_id: str, client: str, link: BrokenLink, *, ask: bool = True) -> None: ...

    async def remembered(self, link: BrokenLink, *, ask: bool = True) -> Findings: ...


class Mender:
    """Makes repair pages, few at a time. Pages are drawn in threads of their own, so that a page with little on it
    does not wait behind those that are still being ranked."""

    def __init__(
        self, repairer: Repairs, held: HeldPages, turns: Turns, archives: Archives, drawing: Executor
    ) -> None:
        self._repairer = repairer
        self._held = held
        self._turns = turns
        self._archives = archives
        self._drawing = drawing

    async def mend(self, miss: Miss, *, within_s: float) -> Mended:
        """The page for a miss; when it is not that soon one's turn, or too many wait, with what is known at once."""
        try:
            async with asyncio.timeout(within_s) as patience, self._turns.turn(miss.device):
                found = await self._repairer.repair(miss.link, within_s=within_s, click=miss.click)
                patience.reschedule(None)
                return await self._drawn(found, miss, await self._findings(found.link, miss))
        except TooMany:
            pass  # counted, and too many to be told one by one
        except TimeoutError:
            log.warning("no repair within %.1f s: %s", within_s, shareable_url(miss.link.url))
        found = await at_hand(self._held, miss.link)
        return await self._drawn(found, miss, self._unknown(found.link, miss))

    async def _findings(self, link: BrokenLink, miss: Miss) -> Findings | None:
        unknown = self._unknown(link, miss)
        if miss.ask is None:
            return None
        try:
            async with asyncio.timeout(REMEMBER_S):
                return await self._archives.remembered(link, ask=miss.ask)
        except TimeoutError:
            # Where archives are off, nobody waits for them, and there is nothing to complain about.
            if miss.ask:
                log.warning("nothing of archives for %s: late", shareable_url(link.url))
        except RepairError as error:
            log.warning("nothing of archives for %s: %s", shareable_url(link.url), error)
        return unknown

    def _unknown(self, link: BrokenLink, miss: Miss) -> Findings | None:
        """Nothing of archives yet; the page may ask for it. Where archives are off, there is no more to come."""
        if miss.ask is None:
            return None
        self._archives.note(miss.context.miss_id, miss.client, link, ask=miss.ask)
        return Findings(link=link, found=TimeMap(url=link.url)) if miss.ask else None

    async def _drawn(self, found: RankedAlternatives, miss: Miss, findings: Findings | None) -> Mended:
        context, loop = replace(miss.context, findings=findings), asyncio.get_running_loop()
        return Mended(found=found, page=await loop.run_in_executor(self._drawing, render, found, context))
