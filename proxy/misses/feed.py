"""What is being missed right now: the last few misses in memory, and who watches them, never waited for."""

import asyncio
import itertools
from collections import deque
from datetime import datetime

from msgspec import Struct

from proxy.misses.record import MissRecord, site_of
from repair import urls
from repair.model import MissKind

_KEPT = 200
_MAX_WATCHERS = 20


class Missed(Struct, frozen=True, kw_only=True):
    """One miss as the live view shows it; nothing of the reader."""

    number: int
    at: datetime
    url: str
    site: str
    kind: MissKind
    source_url: str | None
    offered: int


class MissingNow:
    """`note` may be called in any thread and returns at once; who watches and falls behind skips what is not kept."""

    def __init__(self) -> None:
        self._last: deque[Missed] = deque(maxlen=_KEPT)
        self._numbers = itertools.count(1)
        self._latest = 0
        self._watchers: set[asyncio.Event] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False

    def note(self, record: MissRecord) -> None:
        number = self._latest = next(self._numbers)
        self._last.append(
            Missed(
                number=number,
                at=record.at,
                url=record.url,
                site=site_of(record.url),
                kind=record.kind,
                source_url=record.source_url,
                offered=len(record.offered),
            )
        )
        loop = self._loop
        if self._watchers and loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._wake)

    def since(self, number: int) -> tuple[Missed, ...]:
        """What came after, oldest first; all that is kept when the number is from before a restart."""
        kept = tuple(self._last)
        if number > self._latest:
            return kept
        return tuple(each for each in kept if each.number > number)

    def forget(self, url: str) -> None:
        """Show an address no more, however it is written."""
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

    async def newer(self, number: int, *, within_s: float) -> tuple[Missed, ...]:
        """What came after, as soon as there is something; empty when nothing does in time."""
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
        """Let all who watch go."""
        self._closed = True
        self._wake()

    def _wake(self) -> None:
        for news in self._watchers:
            news.set()


def _normal(url: str) -> str:
    return urls.normal(url) if urls.is_web_url(url) else url
