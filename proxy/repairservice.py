"""From a miss to its repair page, in one call and in the process that has the stores.

A worker sends one request and gets bytes. Ranking and rendering a page take longer than many ordinary responses, so
neither may run where users wait for those.
"""

import asyncio
import logging
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Protocol

from proxy.pages.archivefindings import ArchiveFindings
from proxy.pages.render import RenderedPage
from proxy.pages.repairpage import RepairPageContext, render
from repair.admission import AdmissionControl, RepairPipeline, SavedPages, TooManyRepairs, without_ranking
from repair.errors import RepairError
from repair.memento.model import TimeMap
from repair.model import BrokenLink, Click, RankedAlternatives
from repair.secrets.addresses import without_secret

log = logging.getLogger(__name__)

REMEMBER_S = 0.5
"""The longest wait for remembered archive results; the script of the page requests them again."""


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


class ArchiveNotes(Protocol):
    """Looks up archived versions."""

    def note(self, miss_id: str, client: str, link: BrokenLink, *, ask: bool = True) -> None: ...

    async def stored_findings(self, link: BrokenLink, *, ask: bool = True) -> ArchiveFindings: ...


class RepairPageService:
    """Makes repair pages, a few at a time. Pages are rendered in separate threads, so that a simple page does not
    wait behind those that are still being ranked.
    """

    def __init__(
        self,
        repairer: RepairPipeline,
        saved_pages: SavedPages,
        admission: AdmissionControl,
        archives: ArchiveNotes,
        render_threads: Executor,
    ) -> None:
        self._repairer = repairer
        self._saved_pages = saved_pages
        self._admission = admission
        self._archives = archives
        self._render_threads = render_threads

    async def repair_page(self, miss: RepairRequest, *, within_s: float) -> RepairResponse:
        """The page for a miss; without alternatives when it is not admitted in time or too many wait."""
        try:
            async with asyncio.timeout(within_s) as patience, self._admission.admit(miss.device):
                found = await self._repairer.repair(miss.link, within_s=within_s, click=miss.click)
                patience.reschedule(None)
                return await self._render(found, miss, await self._findings(found.link, miss))
        except TooManyRepairs:
            pass  # counted, and too many to be logged one by one
        except TimeoutError:
            log.warning("repair timed out after %.1f s: %s", within_s, without_secret(miss.link.url))
        found = await without_ranking(self._saved_pages, miss.link)
        return await self._render(found, miss, self._unknown(found.link, miss))

    async def _findings(self, link: BrokenLink, miss: RepairRequest) -> ArchiveFindings | None:
        unknown = self._unknown(link, miss)
        if miss.ask is None:
            return None
        try:
            async with asyncio.timeout(REMEMBER_S):
                return await self._archives.stored_findings(link, ask=miss.ask)
        except TimeoutError:
            # Where archives are off, nobody waits for them, and there is nothing to log.
            if miss.ask:
                log.warning("archives: request timed out for %s", without_secret(link.url))
        except RepairError as error:
            log.warning("archives: request failed for %s: %s", without_secret(link.url), error)
        return unknown

    def _unknown(self, link: BrokenLink, miss: RepairRequest) -> ArchiveFindings | None:
        """No archive results yet; the page may request them later. None where archives are off."""
        if miss.ask is None:
            return None
        self._archives.note(miss.context.miss_id, miss.client, link, ask=miss.ask)
        return ArchiveFindings(link=link, found=TimeMap(url=link.url)) if miss.ask else None

    async def _render(
        self, found: RankedAlternatives, miss: RepairRequest, findings: ArchiveFindings | None
    ) -> RepairResponse:
        context, loop = replace(miss.context, findings=findings), asyncio.get_running_loop()
        return RepairResponse(
            found=found, page=await loop.run_in_executor(self._render_threads, render, found, context)
        )
