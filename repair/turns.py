"""Repairs in turn: so many may wait or be under way, and past that a page goes out with what is known at once.

A class that follows fifty dead links in the same minute is served; of a thousand at once each would be late.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from repair.model import Alternative, BrokenLink, HeldPage, Link, RankedAlternatives
from repair.pipeline import Repairer


class HeldPages(Protocol):
    """Who knows what is held, without waiting for repairs."""

    async def page(self, url: str) -> HeldPage | None: ...


class TakingTurns:
    """A Repairer for a crowd. `turned_away` counts the links that were answered without alternatives."""

    def __init__(self, repairer: Repairer, held: HeldPages, *, at_once: int) -> None:
        self._repairer = repairer
        self._held = held
        self._at_once = at_once
        self.under_way = 0
        self.turned_away = 0

    async def repair(self, link: BrokenLink, *, within_s: float | None = None) -> RankedAlternatives:
        """As Repairer.repair; past the limit, the copy of the page itself, if there is one."""
        if self.under_way >= self._at_once:
            self.turned_away += 1
            page = await self._held.page(link.url)
            return RankedAlternatives(
                link=link, copy_at=page.fetched_at if page is not None and page.has_copy else None
            )
        with self._turn():
            return await self._repairer.repair(link, within_s=within_s)

    async def search(self, text: str, limit: int = 10) -> tuple[Alternative, ...]:
        return await self._repairer.search(text, limit)

    async def infer_source(
        self, url: str, *, referrer: str | None, recent: Sequence[str] = ()
    ) -> tuple[str | None, Link | None]:
        """As Repairer.infer_source; past the limit, nothing: it would only wait to be turned away."""
        if self.under_way >= self._at_once:
            return None, None
        with self._turn():
            return await self._repairer.infer_source(url, referrer=referrer, recent=recent)

    @contextmanager
    def _turn(self) -> Iterator[None]:
        self.under_way += 1
        try:
            yield
        finally:
            self.under_way -= 1
