"""Checks the links of lessons in the background: their state, when they were saved, what may replace dead ones."""

import asyncio
import logging
from typing import Protocol

from msgspec.structs import replace

from proxy.errors import LinkmendError
from proxy.lessons.checker import LinkChecker
from proxy.lessons.model import BROKEN, CheckState, LessonLink, LinkFinding, Replacement
from proxy.lessons.store import LessonStore
from repair.errors import RepairError
from repair.model import BrokenLink, HeldPage, MissKind, RankedAlternatives
from repair.text import urls

log = logging.getLogger(__name__)

_REPAIR_S = 10.0
_MAX_REPLACEMENTS = 5


class LessonRepairs(Protocol):
    """Finds replacements: the repairer behind admission control."""

    async def repair(self, link: BrokenLink, *, within_s: float | None = None) -> RankedAlternatives: ...


class SavedCopies(Protocol):
    """Looks up saved pages."""

    async def page(self, url: str) -> HeldPage | None: ...


class LessonChecks:
    """One task for each lesson whose links are being checked; `at_once` links of all lessons. For one event loop."""

    def __init__(
        self,
        store: LessonStore,
        checker: LinkChecker,
        *,
        repairs: LessonRepairs,
        saved: SavedCopies,
        at_once: int,
    ) -> None:
        self._store, self._checker = store, checker
        self._repairs, self._saved = repairs, saved
        self._slots = asyncio.Semaphore(max(1, at_once))
        self._running: dict[int, asyncio.Task[None]] = {}

    async def close(self) -> None:
        tasks = tuple(self._running.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def wait(self) -> None:
        """Until nothing is being checked."""
        while self._running:
            await asyncio.wait(tuple(self._running.values()))

    def begin(self, lesson: int) -> None:
        """Check the links of a lesson that wait for it, unless that is under way."""
        if lesson in self._running:
            return
        task = asyncio.create_task(self._check_all(lesson))
        self._running[lesson] = task
        task.add_done_callback(lambda ended: self._end_check(lesson, ended))

    def _end_check(self, lesson: int, task: "asyncio.Task[None]") -> None:
        self._running.pop(lesson, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.warning("lesson: the check ended early: %s", error)

    async def _check_all(self, lesson: int) -> None:
        links = await asyncio.to_thread(self._store.links, lesson)
        waiting = [link for link in links if link.found.state is CheckState.WAITING]
        async with asyncio.TaskGroup() as group:
            for link in waiting:
                group.create_task(self._check_one(lesson, link))

    async def _check_one(self, lesson: int, link: LessonLink) -> None:
        async with self._slots:
            try:
                found = await self._checker.check(link.url)
                held = await self.held_on(link.url)
                offered = await self._replacements(link, found) if found.state in BROKEN else ()
            except (LinkmendError, RepairError, ValueError) as error:
                log.warning("lesson: a link could not be checked: %s", error)
                found, held, offered = LinkFinding(state=CheckState.UNKNOWN), "", ()
            except Exception:  # a fault of ours costs this link, not the lesson: others would wait for ever
                log.exception("lesson: a link could not be checked")
                found, held, offered = LinkFinding(state=CheckState.UNKNOWN), "", ()
            await asyncio.to_thread(
                self._store.change,
                lesson,
                link.number,
                lambda each: replace(each, found=found, held_on=held, replacements=offered),
            )

    async def _replacements(self, link: LessonLink, found: LinkFinding) -> tuple[Replacement, ...]:
        broken = BrokenLink(
            url=link.url,
            kind=found.kind or MissKind.NOT_FOUND,
            anchor=link.anchor,
            before=link.before,
            after=link.after,
        )
        try:
            ranked = await self._repairs.repair(broken, within_s=_REPAIR_S)
        except (RepairError, TimeoutError) as error:
            log.warning("lesson: no replacements: %s", str(error) or "late")
            return ()
        return tuple(
            Replacement(url=each.url, title=each.title, reasons=each.reasons, confidence=each.confidence)
            for each in ranked.alternatives[:_MAX_REPLACEMENTS]
        )

    async def held_on(self, url: str) -> str:
        """The day on which a page was saved; "" when it is not."""
        page = await self._saved.page(urls.normal(url))
        return f"{page.fetched_at:%Y-%m-%d}" if page is not None and page.has_copy else ""
