"""From a miss to its repair page, in one call and in the process that has the stores.

A worker sends one request and gets bytes. Ranking and rendering a page take longer than many ordinary responses, so
neither may run where users wait for those.

Where a district has more pages than the school, two lists can be made: a *narrow* one of the school's own pages,
and a *wide* one, which takes as long as the district does. A page for a person has the narrow one, and asks for the
wide one afterwards (`proxy.lateoffers`); whoever misses the same page next gets the wide one at once. A program that
asks for JSON cannot be told more afterwards, so it waits for the wide one, but not for long.
"""

import asyncio
import logging
import re
import secrets
import time
from collections.abc import Callable, Hashable
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Protocol

from proxy.lateoffers import LateOffers, OnLateOffers
from proxy.pages.archivefindings import ArchiveFindings
from proxy.pages.render import RenderedPage
from proxy.pages.repairpage import RepairPageContext, render
from proxy.portal.routemodel import LateOffersRoute
from repair.admission import AdmissionControl, RepairTicket, SavedPages, TooManyRepairs, without_ranking
from repair.collapsing import MadeResult, ResultCollapser
from repair.errors import RepairError
from repair.memento.model import TimeMap
from repair.model import BrokenLink, Click, PlacedLink, RankedAlternatives, RankingOutcome
from repair.secrets.addresses import without_secret

log = logging.getLogger(__name__)

_Findings = tuple[RankedAlternatives, ArchiveFindings | None]
_Page = tuple[RankedAlternatives, ArchiveFindings | None, RenderedPage]

REMEMBER_S = 0.5
"""The longest wait for remembered archive results; the script of the page requests them again."""
KEPT_S = 60.0
"""How long a repair is given to others while nothing changes: clicks on offers lose weight with time."""
_SETTLED_S = 1.0
_MAX_REPAIRS = 500
_MAX_PAGES = 100
_MISS_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ANY_MISS = secrets.token_urlsafe(16)
"""Stands in a shared page where each reader's has the id of their miss; nobody can write it into a page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairRequest:
    """A page that a user missed, and what the repair page should look like.

    `ask` says whether archives may be queried about it, None that they may not even be looked up. `device` is a
    code of the client, for fair queueing.
    """

    link: BrokenLink
    click: Click
    client: str
    ask: bool | None
    context: RepairPageContext
    device: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairResponse:
    """The alternatives, and the rendered page."""

    found: RankedAlternatives
    page: RenderedPage


def bare_page(miss: RepairRequest) -> RepairResponse:
    """A repair page without alternatives, for workers that cannot reach the backend."""
    found = RankedAlternatives(link=miss.link)
    findings = ArchiveFindings(link=miss.link, found=TimeMap(url=miss.link.url)) if miss.ask else None
    return RepairResponse(found=found, page=render(found, replace(miss.context, findings=findings)))


class StagedRepairs(Protocol):
    """The pipeline in two steps: what a click adds to a link, then the ranking for the link."""

    def place(self, link: BrokenLink, click: Click) -> PlacedLink: ...

    async def rank(self, link: BrokenLink, *, within_s: float | None = None) -> RankingOutcome: ...


class ArchiveNotes(Protocol):
    """Looks up archived versions."""

    def note(self, miss_id: str, client: str, link: BrokenLink, *, ask: bool = True) -> None: ...

    async def stored_findings(self, link: BrokenLink, *, ask: bool = True) -> ArchiveFindings: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingLane:
    """A way to rank, with admission control of its own, so that no lane waits for another."""

    repairer: StagedRepairs
    admission: AdmissionControl


@dataclass(frozen=True, slots=True, kw_only=True)
class WideLane(RankingLane):
    """Ranks more pages than the school has. `is_there` says whether they can be had at this moment, `patience_s` how
    long programs wait for them."""

    is_there: Callable[[], bool]
    patience_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _RepairKey:
    """All that the alternatives depend on, and nothing else of the reader: how they came is in the placed link."""

    placed: PlacedLink
    within_s: float
    wide: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _FindingsKey:
    """The `id` of the alternatives, which what is remembered under it holds on to."""

    found: int
    ask: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _PageKey:
    """What a page says, to whoever reads it: the context is without the id of the miss."""

    found: int
    findings: int
    context: RepairPageContext


class RepairPageService:
    """Makes repair pages, a few at a time; identical ones once for all who ask.

    Readers who miss the same page, and came to it by the same link, share one ranking and one rendered page, until
    anything in the collection changes. Links are placed and pages rendered in separate threads, so that a simple
    page does not wait behind those that are still being ranked.
    """

    def __init__(
        self,
        repairer: StagedRepairs,
        saved_pages: SavedPages,
        admission: AdmissionControl,
        archives: ArchiveNotes,
        threads: Executor,
        *,
        wide: WideLane | None = None,
        on_late_offers: OnLateOffers = lambda miss_id, client, first, urls: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`on_late_offers` is told what was added to a page that a reader has, and under which numbers."""
        self._narrow = RankingLane(repairer=repairer, admission=admission)
        self._wide = wide
        self._saved_pages = saved_pages
        self._archives = archives
        self._threads = threads
        self._clock = clock
        self._repairs = ResultCollapser[_RepairKey, RankedAlternatives](limit=_MAX_REPAIRS, clock=clock)
        self._findings = ResultCollapser[_FindingsKey, _Findings](limit=_MAX_REPAIRS, clock=clock)
        self._pages = ResultCollapser[_PageKey, _Page](limit=_MAX_PAGES, clock=clock)
        self._late = LateOffers[_RepairKey](self._rank_later, on_late_offers)
        self._tickets: dict[_RepairKey, RepairTicket] = {}
        self._state: Hashable = None
        self._changed_at = 0.0

    @property
    def collapsed(self) -> int:
        """How many repair pages were made from the ranking for another reader."""
        return self._repairs.collapsed

    def forget(self, url: str | None = None) -> None:
        """Rank anew what is asked about a lost page, or about any: something besides the collection has changed."""
        self._repairs.forget(lambda key: url is None or key.placed.link.url == url)

    async def repair_page(self, miss: RepairRequest, *, within_s: float) -> RepairResponse:
        """The page for a miss; without alternatives when it is not admitted in time or too many wait."""
        try:
            async with asyncio.timeout(within_s):
                placed = await asyncio.get_running_loop().run_in_executor(
                    self._threads, self._narrow.repairer.place, miss.link, miss.click
                )
                self._note_state(placed.state)
                key = _RepairKey(placed=placed, within_s=within_s)
                known = await self._rank_widely(key, miss, within_s=within_s)
                found = known or await self._rank_once(key, miss.device)
        except TooManyRepairs:
            pass  # counted, and too many to be logged one by one
        except TimeoutError:
            log.warning("repair timed out after %.1f s: %s", within_s, without_secret(miss.link.url))
        else:
            self._note(found.link, miss)
            findings = await self._find_archived(found, miss.ask)
            context = miss.context
            if known is None and not context.as_json and self._is_wide_there():
                self._late.note(context, miss.client, found, replace(key, wide=True), miss.device)
                context = replace(context, more_later=True)
            return RepairResponse(found=found, page=await self._render_once(found, findings, context))
        found = await without_ranking(self._saved_pages, miss.link)
        self._note(found.link, miss)
        return RepairResponse(
            found=found, page=await self._render(found, _unknown(found.link, miss.ask), miss.context)
        )

    async def late_offers(self, call: LateOffersRoute, language: str, client: str) -> RenderedPage | None:
        """What came too late for a reader's page; None for another reader's."""
        return await self._late.answer(call, language, client)

    def _is_wide_there(self) -> bool:
        return self._wide is not None and self._wide.is_there()

    async def _rank_widely(
        self, key: _RepairKey, miss: RepairRequest, *, within_s: float
    ) -> RankedAlternatives | None:
        """The wide list, if it is known or a program asks; None if it does not come in time for the narrow one."""
        wide = replace(key, wide=True)
        known = self._repairs.kept(wide)
        if known is not None or self._wide is None or not miss.context.as_json or not self._wide.is_there():
            return known
        try:
            async with asyncio.timeout(min(self._wide.patience_s, within_s / 2)):
                return await self._rank_once(wide, miss.device)
        except TimeoutError:  # or too many repairs
            return None

    async def _rank_later(self, key: _RepairKey, device: str) -> RankedAlternatives:
        """The wide list for a reader who has the narrow one. Raises TimeoutError."""
        async with asyncio.timeout(key.within_s):
            return await self._rank_once(key, device)

    async def _rank_once(self, key: _RepairKey, device: str) -> RankedAlternatives:
        """The alternatives. Raises TooManyRepairs."""
        lane = self._wide if key.wide and self._wide is not None else self._narrow
        ticket, leads = RepairTicket(device), False

        async def make() -> MadeResult[RankedAlternatives]:
            nonlocal leads
            leads, self._tickets[key] = True, ticket
            keep_s = self._keep_s(key.placed.state)
            try:
                async with lane.admission.admit(ticket=ticket):
                    outcome = await lane.repairer.rank(key.placed.link, within_s=key.within_s)
            finally:
                if self._tickets.get(key) is ticket:
                    del self._tickets[key]
            return MadeResult(value=outcome.found, keep_s=keep_s if outcome.is_whole else 0.0)

        while True:
            if key in self._tickets:
                lane.admission.join(self._tickets[key], device)
            try:
                return await self._repairs.get(key, make)
            except TooManyRepairs:
                if leads:
                    raise
                # The device that asked first had too long a queue; this one may have none.

    def _note_state(self, state: Hashable) -> None:
        """Nothing is known any more once the collection has changed."""
        if state != self._state:
            self._state, self._changed_at = state, self._clock()
            self._repairs.drop()
            self._findings.drop()
            self._pages.drop()

    def _keep_s(self, state: Hashable) -> float:
        """How long a ranking in this state of the collection is kept: if another process has changed it, the index
        follows a moment later."""
        if state != self._state:
            return 0.0
        return KEPT_S if self._clock() - self._changed_at >= _SETTLED_S else _SETTLED_S

    def _note(self, link: BrokenLink, miss: RepairRequest) -> None:
        """The script of this reader's page may ask archives later."""
        if miss.ask is not None:
            self._archives.note(miss.context.miss_id, miss.client, link, ask=miss.ask)

    async def _find_archived(self, found: RankedAlternatives, ask: bool | None) -> ArchiveFindings | None:
        """What is remembered of archived versions; None where archives must not even be looked up."""
        if ask is None:
            return None

        async def make() -> MadeResult[_Findings]:
            url = without_secret(found.link.url)
            try:
                async with asyncio.timeout(REMEMBER_S):
                    findings = await self._archives.stored_findings(found.link, ask=ask)
                    return MadeResult(value=(found, findings), keep_s=KEPT_S)
            except TimeoutError:
                # Where archives are off, nobody waits for them, and there is nothing to log.
                if ask:
                    log.warning("archives: request timed out for %s", url)
            except RepairError as error:
                log.warning("archives: request failed for %s: %s", url, error)
            return MadeResult(value=(found, _unknown(found.link, ask)))

        _, findings = await self._findings.get(_FindingsKey(found=id(found), ask=ask), make)
        return findings

    async def _render_once(
        self, found: RankedAlternatives, findings: ArchiveFindings | None, context: RepairPageContext
    ) -> RenderedPage:
        """The page, rendered once for all to whom it says the same; the id of the reader's miss is filled in."""
        if not _MISS_ID.fullmatch(context.miss_id):
            return await self._render(found, findings, context)

        async def make() -> MadeResult[_Page]:
            page = await self._render(found, findings, replace(context, miss_id=_ANY_MISS))
            return MadeResult(value=(found, findings, page), keep_s=KEPT_S)

        key = _PageKey(found=id(found), findings=id(findings), context=replace(context, miss_id=""))
        _, _, page = await self._pages.get(key, make)
        return replace(page, body=page.body.replace(_ANY_MISS.encode(), context.miss_id.encode()))

    async def _render(
        self, found: RankedAlternatives, findings: ArchiveFindings | None, context: RepairPageContext
    ) -> RenderedPage:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, render, found, replace(context, findings=findings))


def _unknown(link: BrokenLink, ask: bool | None) -> ArchiveFindings | None:
    """No archive results yet; the page may request them later. None where archives are off."""
    return ArchiveFindings(link=link, found=TimeMap(url=link.url)) if ask else None
