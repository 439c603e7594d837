"""How many users opened a saved page on a day, so that the portal can list what many read, and not who read what.

Codes of clients are in memory only, by page number, until the day ends; the codes of the next day are others. An
address is kept for some seconds, until it is known whether its page is saved: of other pages nothing is kept. Only
numbers of at least `least` readers are stored (`repair.collection.listing`).
"""

import asyncio
import logging
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Executor
from datetime import UTC, date, datetime
from typing import Protocol

from repair.bounded import BoundedDict
from repair.errors import RepairError

log = logging.getLogger(__name__)

_COUNT_EVERY_S = 10.0
_STORE_EVERY = 60
"""Counts between two times of storing: every write makes rankings be done anew."""
_MAX_WAITING = 5_000
_MAX_PAGES = 20_000
_MAX_READERS = 100
_MAX_OF_CLIENT = 500
"""Pages of one client that count on a day: nobody can push out what others read."""


class ReaderCounts(Protocol):
    """Where the numbers of readers go: `repair.collection.listing.PageListing`."""

    def page_number(self, url: str) -> int | None: ...

    def note_readers(self, readers: dict[int, int], day: date) -> None: ...


class Readership:
    """Counts readers. `page_opened` never waits; `count` and `store` use the database: call them in a thread."""

    def __init__(
        self,
        pages: ReaderCounts,
        *,
        least: Callable[[], int],
        today: Callable[[], date] = lambda: datetime.now(UTC).date(),
    ) -> None:
        """Pages with at least `least` readers on a day are listed; 0 for none at all."""
        self._pages = pages
        self._least = least
        self._today = today
        self._day = today()
        self._waiting: list[tuple[str, str]] = []
        self._readers = BoundedDict[int, set[str]](_MAX_PAGES)
        self._counted: Counter[str] = Counter()
        self._stored: dict[int, int] = {}
        self._counting = threading.Lock()

    def page_opened(self, client: str, url: str) -> None:
        """A client (by its code of the day) opened a page, saved or not."""
        if len(self._waiting) < _MAX_WAITING and self._least():
            self._waiting.append((client, url))

    async def run(self, threads: Executor) -> None:
        """Count and store from time to time, until cancelled."""
        loop, rounds = asyncio.get_running_loop(), 0
        while True:
            await asyncio.sleep(_COUNT_EVERY_S)
            rounds += 1
            try:
                await loop.run_in_executor(threads, self.store if rounds % _STORE_EVERY == 0 else self.count)
            except RepairError as error:
                log.warning("readers are not counted: %s", error)

    def count(self) -> None:
        """Count what was opened since the last time."""
        with self._counting:
            if self._day != (today := self._today()):
                self._store()
                self._day = today
                for counts in (self._readers, self._counted, self._stored):
                    counts.clear()
            opened, self._waiting = self._waiting, []
            for client, url in opened:
                self._count(client, url)

    def store(self) -> None:
        """Count, and store the numbers that are large enough."""
        self.count()
        with self._counting:
            self._store()

    def _store(self) -> None:
        least = self._least()
        new = {
            page: len(readers)
            for page, readers in self._readers.items()
            if least and len(readers) >= least and len(readers) > self._stored.get(page, 0)
        }
        if new:
            self._pages.note_readers(new, self._day)
            self._stored.update(new)

    def _count(self, client: str, url: str) -> None:
        page = self._pages.page_number(url) if self._counted[client] < _MAX_OF_CLIENT else None
        if page is None:
            return
        readers = self._readers.get(page) or set()
        if client not in readers and len(readers) < _MAX_READERS:
            readers.add(client)
            self._counted[client] += 1
            self._readers[page] = readers
