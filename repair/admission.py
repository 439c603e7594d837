"""Admission control for repairs: at most `abreast` run, the rest queue, and beyond `at_once` they are refused.

A class that follows fifty dead links in the same minute is served; of a thousand at once each would be late. Few
run at the same time: more would not be ready any sooner, and each would be as late as the last.

Devices take turns: one that misses a thousand pages waits for itself, and when the queue is full, the device with
the longest queue loses its last request. A request for which several devices wait counts once, and is admitted when
the first of them is due.
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


class RepairTicket:
    """A request in the queue. It stands in the queue of every device that waits for its result, and counts once."""

    def __init__(self, device: str) -> None:
        self.devices = [device]
        self.turn: asyncio.Future[None] | None = None

    @property
    def is_waiting(self) -> bool:
        return self.turn is not None and not self.turn.done()


class AdmissionControl:
    """Admits requests, or queues them. `refused` counts those that were not."""

    def __init__(self, *, at_once: int, abreast: int) -> None:
        self._at_once = at_once
        self._free = abreast
        self._waiting: OrderedDict[str, deque[RepairTicket]] = OrderedDict()
        """Queues by device, the next device first; the requests of one device in order of arrival."""
        self.in_progress = 0
        self.refused = 0

    @asynccontextmanager
    async def admit(self, device: str = "", *, ticket: RepairTicket | None = None) -> AsyncIterator[None]:
        """Wait for admission and keep it for the length of the block. Raises TooManyRepairs, mostly at once.

        With a `ticket`, further devices can join while it waits.
        """
        ticket = ticket or RepairTicket(device)
        if self.in_progress >= self._at_once:
            self.refused += 1
            if not self._make_room(ticket):
                raise self._too_many()
        self.in_progress += 1
        try:
            await self._wait_for_place(ticket)
            try:
                yield
            finally:
                self._admit_next()
        finally:
            self.in_progress -= 1

    def join(self, ticket: RepairTicket, device: str) -> None:
        """Have a request stand in the queue of another device too: it is admitted when the first of them is."""
        if device not in ticket.devices:
            ticket.devices.append(device)
            if ticket.is_waiting:
                self._waiting.setdefault(device, deque()).append(ticket)

    async def _wait_for_place(self, ticket: RepairTicket) -> None:
        if self._free:
            self._free -= 1
            return
        turn = ticket.turn = asyncio.get_running_loop().create_future()
        for device in ticket.devices:
            self._waiting.setdefault(device, deque()).append(ticket)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                self._withdraw(ticket)
            elif turn.exception() is None:  # it was admitted at the same moment
                self._admit_next()
            raise

    def _admit_next(self) -> None:
        """Admit the next device's request while there is a free place."""
        while self._waiting:
            device = next(iter(self._waiting))
            ticket = self._waiting[device][0]
            self._withdraw(ticket)
            if device in self._waiting:
                self._waiting.move_to_end(device)
            if ticket.turn is not None and not ticket.turn.done():  # a cancelled one may still be queued
                ticket.turn.set_result(None)
                return
        self._free += 1

    def _make_room(self, ticket: RepairTicket) -> bool:
        """Refuse the last request of the device with the longest queue, if it is another one's, by more than one."""
        waiting = {device: len(queue) for device, queue in self._waiting.items()}
        most = max(waiting, key=waiting.__getitem__, default="")
        if waiting.get(most, 0) <= min(waiting.get(device, 0) for device in ticket.devices) + 1:
            return False
        last = self._waiting[most][-1]
        self._withdraw(last)
        if last.turn is not None and not last.turn.done():
            last.turn.set_exception(self._too_many())
        return True

    def _withdraw(self, ticket: RepairTicket) -> None:
        """Remove a request from the queues of all its devices."""
        for device in ticket.devices:
            queue = self._waiting.get(device, deque())
            if ticket in queue:
                queue.remove(ticket)
            if not queue:
                self._waiting.pop(device, None)

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
