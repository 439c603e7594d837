"""Repairs in turn: so many are worked on abreast, so many may wait, and past that a page goes out with what is known.

A class that follows fifty dead links in the same minute is served; of a thousand at once each would be late. Few are
worked on at the same time: more would not be ready any sooner, and each would be ready as late as the last.
"""

import asyncio
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
    """Who may work now, who waits, first come, first served. `turned_away` counts those who could do neither."""

    def __init__(self, *, at_once: int, abreast: int) -> None:
        self._at_once = at_once
        self._abreast = asyncio.Semaphore(abreast)
        self.under_way = 0
        self.turned_away = 0

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for a turn and have it for the length of the block. Raises TooMany at once."""
        if self.under_way >= self._at_once:
            self.turned_away += 1
            raise TooMany(f"{self.under_way} repairs are under way")
        self.under_way += 1
        try:
            async with self._abreast:
                yield
        finally:
            self.under_way -= 1


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
