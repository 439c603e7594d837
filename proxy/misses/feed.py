"""The latest misses in memory, for the live view. A slow viewer never delays the proxy."""

import asyncio
import itertools
from collections import deque
from datetime import datetime

from msgspec import Struct

from proxy.misses.record import MissRecord, site_of
from repair.model import MissKind
from repair.text import urls

_MAX_KEPT = 200
_MAX_WATCHERS = 20


class RecentMiss(Struct, frozen=True, kw_only=True):
    """One miss in the live view; contains nothing about the user."""

    number: int
    at: datetime
    url: str
    site: str
    kind: MissKind
    source_url: str | None
    offered: int
    source_guessed: bool = False


class MissFeed:
    """`note` may be called in any thread and returns at once. A viewer that falls behind skips what is no longer
    kept.
    """

    def __init__(self) -> None:
        self._last: deque[RecentMiss] = deque(maxlen=_MAX_KEPT)
        self._numbers = itertools.count(1)
        self._latest = 0
        self._watchers: set[asyncio.Event] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False

    def note(self, record: MissRecord) -> None:
        number = self._latest = next(self._numbers)
        self._last.append(
            RecentMiss(
                number=number,
                at=record.at,
                url=record.url,
                site=site_of(record.url),
                kind=record.kind,
                source_url=record.source_url,
                offered=len(record.offered),
                source_guessed=record.source_guessed,
            )
        )
        loop = self._loop
        if self._watchers and loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._wake)

    def since(self, number: int) -> tuple[RecentMiss, ...]:
        """The misses after `number`, oldest first; all that are kept when the number is from before a restart."""
        kept = tuple(self._last)
        if number > self._latest:
            return kept
        return tuple(each for each in kept if each.number > number)

    def forget(self, url: str) -> None:
        """Remove an address, however it is spelt."""
        wanted = _normal(url)
        for each in tuple(self._last):
            if wanted in (_normal(each.url), _normal(each.source_url or "")):
                self._last.remove(each)

    @property
    def is_full(self) -> bool:
        return len(self._watchers) >= _MAX_WATCHERS

    @property
    def is_closed(self) -> bool:
        return self._closed

    async def newer(self, number: int, *, within_s: float) -> tuple[RecentMiss, ...]:
        """Wait for misses after `number`; empty when none comes within `within_s`."""
        self._loop = asyncio.get_running_loop()
        news = asyncio.Event()
        self._watchers.add(news)
        try:
            found = self.since(number)
            if found or self._closed:
                return found
            async with asyncio.timeout(within_s):
                await news.wait()
        except TimeoutError:
            return ()
        finally:
            self._watchers.discard(news)
        return self.since(number)

    def close(self) -> None:
        """Release all viewers."""
        self._closed = True
        self._wake()

    def _wake(self) -> None:
        for news in self._watchers:
            news.set()


def _normal(url: str) -> str:
    return urls.normal(url) if urls.is_web_url(url) else url
