"""One night carried out: every due address, then the crawls, until the pages or bytes of the night are spent.

For an address: the page itself if it is back, else its archived copy, else the pages linked beside it. Who fetches is
the caller's: the real network, or a simulated web.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Protocol

from repair.growing.growthstore import Brought, BroughtBy, GrowthStore, WantState
from repair.growing.nightplan import PlannedWant
from repair.growing.wants import Want, WantedMiss

RELATED_PAGES = 2
"""Pages linked beside a lost one that are fetched for it."""


class StepOutcome(Enum):
    """How a request ended. After `NO_CONNECTION` the night ends, and the address stays due."""

    SAVED = auto()
    ABSENT = auto()
    REFUSED = auto()
    NO_CONNECTION = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResult:
    """The outcome of a step, the pages it saved, and the bytes it cost."""

    outcome: StepOutcome
    pages: int = 0
    received: int = 0
    note: str = ""


class NightFetcher(Protocol):
    """Fetches and saves for a night."""

    async def fetch(self, url: str) -> StepResult:
        """A page of the web."""

    async def fetch_archived(self, url: str) -> StepResult:
        """The archived copy of a page that is not there."""

    async def find_related(self, miss: WantedMiss, most: int) -> Sequence[str]:
        """Addresses linked beside a lost page that are not saved yet."""

    async def crawl(self, want: Want, *, pages: int, received: int) -> StepResult:
        """A small crawl, of at most so many pages and bytes."""


class NightRun:
    """One night. `run` returns why it ended."""

    def __init__(self, fetcher: NightFetcher, store: GrowthStore, *, pages: int, received: int) -> None:
        """At most so many `pages` are fetched and bytes `received`."""
        self._fetcher, self._store = fetcher, store
        self._pages, self._bytes = pages, received
        self._night = 0

    async def run(self, plan: Sequence[PlannedWant]) -> str:
        """Carry out a plan."""
        self._night = self._store.begin_night()
        stopped = await self._run(plan)
        self._store.end_night(self._night, stopped)
        return stopped

    async def _run(self, plan: Sequence[PlannedWant]) -> str:
        for planned in plan:
            for miss in planned.due:
                if self._is_spent():
                    return "budget reached"
                if not await self._look_for(planned.want, miss):
                    return "no connection to the internet"
        for planned in plan:
            if self._is_spent():
                return "budget reached"
            if planned.crawl_pages:
                await self._crawl(planned.want, min(planned.crawl_pages, self._pages))
        return "done"

    def _is_spent(self) -> bool:
        return self._pages <= 0 or self._bytes <= 0

    async def _look_for(self, want: Want, miss: WantedMiss) -> bool:
        """Look for one address; False without a connection."""
        url, store = miss.url, self._store
        store.claim(url)
        found = await self._fetcher.fetch(url)
        self._count(want, url, BroughtBy.BACK, found, url)
        if found.outcome is StepOutcome.NO_CONNECTION:
            store.release(url)
            return False
        if found.outcome is StepOutcome.SAVED:
            store.finish(url, WantState.BACK, note=found.note)
        elif found.outcome is StepOutcome.REFUSED:
            store.finish(url, WantState.REFUSED, note=found.note)
        else:
            await self._replace(want, miss, found.note)
        return True

    async def _replace(self, want: Want, miss: WantedMiss, note: str) -> None:
        """What stands for a page that is not there."""
        archived = await self._fetcher.fetch_archived(miss.url)
        self._count(want, miss.url, BroughtBy.ARCHIVED, archived, miss.url)
        if archived.outcome is StepOutcome.SAVED:
            self._store.finish(miss.url, WantState.ARCHIVED, note=archived.note)
            return
        saved = 0
        for url in await self._fetcher.find_related(miss, RELATED_PAGES):
            if self._is_spent():
                break
            found = await self._fetcher.fetch(url)
            self._count(want, url, BroughtBy.RELATED, found, miss.url)
            saved += found.pages
        state = WantState.RELATED if saved else WantState.ABSENT
        self._store.finish(miss.url, state, note=note)

    async def _crawl(self, want: Want, pages: int) -> None:
        found = await self._fetcher.crawl(want, pages=pages, received=self._bytes)
        self._pages -= pages
        self._bytes -= found.received
        self._note(want, want.name, BroughtBy.CRAWLED, found, "")

    def _count(self, want: Want, url: str, how: BroughtBy, found: StepResult, wanted: str) -> None:
        self._bytes -= found.received
        if found.received:
            self._pages -= 1
        self._note(want, url, how, found, wanted)

    def _note(self, want: Want, url: str, how: BroughtBy, found: StepResult, wanted: str) -> None:
        if found.pages or found.received:
            topic = want.topic.name if want.topic else ""
            brought = Brought(
                url=url, how=how, topic=topic, wanted=wanted, pages=found.pages, received=found.received
            )
            self._store.note_brought(self._night, brought)
