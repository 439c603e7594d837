"""Repairs in turn: so many are worked on abreast, so many may wait, and past that a page goes out with what is known.

A class that follows fifty dead links in the same minute is served; of a thousand at once each would be late. Few are
worked on at the same time: more would not be ready any sooner, and each would be ready as late as the last.

Devices take turns with each other: one that misses a thousand pages waits for itself, and when there is no more room,
who has most waiting makes some.
"""

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Protocol

from repair.model import Alternative, BrokenLink, Click, HeldPage, RankedAlternatives


class Searches(Protocol):
    """Finds pages by words: whoever repairs, or a worker's stand-in."""

    async def search(self, text: str, limit: int = 10) -> tuple[Alternative, ...]: ...


class Repairs(Searches, Protocol):
    """Finds what to offer in the place of a lost page: the pipeline, or the same in turns."""

    async def repair(
        self, link: BrokenLink, *, within_s: float | None = None, click: Click | None = None
    ) -> RankedAlternatives: ...


class HeldPages(Protocol):
    """Who knows what is held, without waiting for repairs."""

    async def page(self, url: str) -> HeldPage | None: ...


class TooMany(TimeoutError):
    """So many wait already that it would take too long."""


class Turns:
    """Who may work now and who waits. `turned_away` counts those who could do neither."""

    def __init__(self, *, at_once: int, abreast: int) -> None:
        self._at_once = at_once
        self._free = abreast
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()
        """By device, whose turn it is first; those of one device in the order they came."""
        self.under_way = 0
        self.turned_away = 0

    @asynccontextmanager
    async def turn(self, device: str = "") -> AsyncIterator[None]:
        """Wait for a turn and have it for the length of the block. Raises TooMany, mostly at once."""
        if self.under_way >= self._at_once:
            self.turned_away += 1
            if not self._make_room(device):
                raise self._too_many()
        self.under_way += 1
        try:
            await self._begin(device)
            try:
                yield
            finally:
                self._pass_on()
        finally:
            self.under_way -= 1

    async def _begin(self, device: str) -> None:
        if self._free:
            self._free -= 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(device, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                self._leave(device, turn)
            elif turn.exception() is None:  # its turn came at the same moment
                self._pass_on()
            raise

    def _pass_on(self) -> None:
        """The next device's turn; none waits while there is a free place."""
        while self._waiting:
            device = next(iter(self._waiting))
            turn = self._taken(device, 0)
            if device in self._waiting:
                self._waiting.move_to_end(device)
            if not turn.done():  # who gave up may not have left yet
                turn.set_result(None)
                return
        self._free += 1

    def _make_room(self, device: str) -> bool:
        """Turn away the last of the device that has most waiting, if that is another, by more than one."""
        most = max(self._waiting, key=lambda each: len(self._waiting[each]), default=device)
        if len(self._waiting.get(most, ())) <= len(self._waiting.get(device, ())) + 1:
            return False
        turn = self._taken(most, -1)
        if not turn.done():
            turn.set_exception(self._too_many())
        return True

    def _leave(self, device: str, turn: asyncio.Future[None]) -> None:
        turns = self._waiting.get(device, deque())
        if turn in turns:
            self._taken(device, turns.index(turn))

    def _taken(self, device: str, place: int) -> asyncio.Future[None]:
        """One that waits, taken out of the queue of its device."""
        turns = self._waiting[device]
        turn = turns[place]
        del turns[place]
        if not turns:
            del self._waiting[device]
        return turn

    def _too_many(self) -> TooMany:
        return TooMany(f"{self.under_way} repairs are under way")


async def at_hand(held: HeldPages, link: BrokenLink) -> RankedAlternatives:
    """What is known of a link without ranking anything: whether there is a copy of the page itself."""
    page = await held.page(link.url)
    return RankedAlternatives(
        link=link, copy_at=page.fetched_at if page is not None and page.has_copy else None
    )


class TakingTurns:
    """A Repairer for a crowd."""

    def __init__(self, repairer: Repairs, held: HeldPages, turns: Turns) -> None:
        self._repairer = repairer
        self._held = held
        self._turns = turns

    async def repair(
        self, link: BrokenLink, *, within_s: float | None = None, click: Click | None = None
    ) -> RankedAlternatives:
        """As Repairer.repair; past the limit, the copy of the page itself, if there is one."""
        try:
            async with self._turns.turn():
                return await self._repairer.repair(link, within_s=within_s, click=click)
        except TooMany:
            return await at_hand(self._held, link)

    async def search(self, text: str, limit: int = 10) -> tuple[Alternative, ...]:
        return await self._repairer.search(text, limit)
