"""Admission control for repairs: at most `abreast` run, the rest queue, and beyond `at_once` they are refused.

A class that follows fifty dead links in the same minute is served; of a thousand at once each would be late. Few
run at the same time: more would not be ready any sooner, and each would be as late as the last.

Devices take turns: one that misses a thousand pages waits for itself, and when the queue is full, the device with
the longest queue loses its last request.
"""

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Protocol

from repair.model import Alternative, BrokenLink, Click, HeldPage, RankedAlternatives


class PageSearcher(Protocol):
    """Finds pages by words: the repairer, or its client in a worker."""

    async def search(self, text: str, limit: int = 10) -> tuple[Alternative, ...]: ...


class RepairPipeline(PageSearcher, Protocol):
    """Finds alternatives to a lost page: the pipeline, or the same behind admission control."""

    async def repair(
        self, link: BrokenLink, *, within_s: float | None = None, click: Click | None = None
    ) -> RankedAlternatives: ...


class SavedPages(Protocol):
    """Looks up saved pages, without waiting for repairs."""

    async def page(self, url: str) -> HeldPage | None: ...


class TooManyRepairs(TimeoutError):
    """The queue is full: waiting would take too long."""


class AdmissionControl:
    """Admits requests, or queues them. `refused` counts those that were not."""

    def __init__(self, *, at_once: int, abreast: int) -> None:
        self._at_once = at_once
        self._free = abreast
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()
        """Queues by device, the next device first; the requests of one device in order of arrival."""
        self.in_progress = 0
        self.refused = 0

    @asynccontextmanager
    async def admit(self, device: str = "") -> AsyncIterator[None]:
        """Wait for admission and keep it for the length of the block. Raises TooManyRepairs, mostly at once."""
        if self.in_progress >= self._at_once:
            self.refused += 1
            if not self._make_room(device):
                raise self._too_many()
        self.in_progress += 1
        try:
            await self._wait_for_place(device)
            try:
                yield
            finally:
                self._admit_next()
        finally:
            self.in_progress -= 1

    async def _wait_for_place(self, device: str) -> None:
        if self._free:
            self._free -= 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(device, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                self._withdraw(device, turn)
            elif turn.exception() is None:  # it was admitted at the same moment
                self._admit_next()
            raise

    def _admit_next(self) -> None:
        """Admit the next device's request while there is a free place."""
        while self._waiting:
            device = next(iter(self._waiting))
            turn = self._dequeue(device, 0)
            if device in self._waiting:
                self._waiting.move_to_end(device)
            if not turn.done():  # a cancelled request may still be queued
                turn.set_result(None)
                return
        self._free += 1

    def _make_room(self, device: str) -> bool:
        """Refuse the last request of the device with the longest queue, if it is another one's, by more than one."""
        most = max(self._waiting, key=lambda each: len(self._waiting[each]), default=device)
        if len(self._waiting.get(most, ())) <= len(self._waiting.get(device, ())) + 1:
            return False
        turn = self._dequeue(most, -1)
        if not turn.done():
            turn.set_exception(self._too_many())
        return True

    def _withdraw(self, device: str, turn: asyncio.Future[None]) -> None:
        turns = self._waiting.get(device, deque())
        if turn in turns:
            self._dequeue(device, turns.index(turn))

    def _dequeue(self, device: str, place: int) -> asyncio.Future[None]:
        """A waiting request, removed from the queue of its device."""
        turns = self._waiting[device]
        turn = turns[place]
        del turns[place]
        if not turns:
            del self._waiting[device]
        return turn

    def _too_many(self) -> TooManyRepairs:
        return TooManyRepairs(f"repair limit reached: {self.in_progress} are running")


async def without_ranking(saved_pages: SavedPages, link: BrokenLink) -> RankedAlternatives:
    """What is known of a link without ranking: whether there is a copy of the page itself."""
    page = await saved_pages.page(link.url)
    return RankedAlternatives(
        link=link, copy_at=page.fetched_at if page is not None and page.has_copy else None
    )


class AdmittedRepairs:
    """A Repairer behind admission control."""

    def __init__(
        self, repairer: RepairPipeline, saved_pages: SavedPages, admission: AdmissionControl
    ) -> None:
        self._repairer = repairer
        self._saved_pages = saved_pages
        self._admission = admission

    async def repair(
        self, link: BrokenLink, *, within_s: float | None = None, click: Click | None = None
    ) -> RankedAlternatives:
        """As Repairer.repair; beyond the limit, only the copy of the page itself, if there is one."""
        try:
            async with self._admission.admit():
                return await self._repairer.repair(link, within_s=within_s, click=click)
        except TooManyRepairs:
            return await without_ranking(self._saved_pages, link)

    async def search(self, text: str, limit: int = 10) -> tuple[Alternative, ...]:
        return await self._repairer.search(text, limit)
