"""Removing a page for good: from the cache, the collection, its index and link graph, and all that was noted of it.

"Gone" means that no file of the data folder has it any more: freed space is overwritten and logs are emptied. Only
the full-text index takes longer: the page is not found any more at once, but its words leave the files when the
index has been made anew, behind the scenes. What other pages say of it, and their links to it, stay with them.
"""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from proxy.backup.contents import ASIDE
from proxy.desk.missing import MissingNow
from proxy.errors import LinkmendError
from proxy.fetching.queue import FetchQueue
from proxy.misses.store import MissStore
from proxy.store.responses import ResponseStore
from repair import urls
from repair.collection import Collection
from repair.harvest import Harvester
from repair.hints import Hints
from repair.memento.client import MementoClient
from repair.pins import Pins

log = logging.getLogger(__name__)

_MAX_PINS = 100_000


class NotRemoved(LinkmendError):
    """There is nothing to remove under what was given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """What was removed: whether the page was held, how many stored responses and misses; what is left to do."""

    url: str
    held: bool
    responses: int
    misses: int
    left: tuple[str, ...] = ()


class Remover:
    """Removes pages from the stores of one data folder. For one event loop."""

    def __init__(
        self,
        data: Path,
        *,
        responses: ResponseStore,
        collection: Collection,
        hints: Hints,
        pins: Pins,
        misses: MissStore,
        fetches: FetchQueue,
        mementos: MementoClient | None = None,
        harvester: Harvester | None = None,
        missing_now: MissingNow | None = None,
    ) -> None:
        """With a `harvester` its turn is waited for: a page it is about to read must not come back."""
        self._data = data
        self._responses, self._collection, self._hints = responses, collection, hints
        self._pins, self._misses, self._fetches = pins, misses, fetches
        self._mementos, self._harvester, self._missing_now = mementos, harvester, missing_now
        self._renewing: asyncio.Task[None] | None = None
        self._once_more = False

    async def start(self) -> None:
        """Take up what an earlier process did not get done."""
        if await asyncio.to_thread(self._collection.index_is_owed):
            self._renew_soon()

    async def remove(self, url: str, *, from_log: bool = False) -> Removed:
        """Remove a page; with `from_log` also every miss of it and every mention of it in the miss log."""
        if not urls.is_web_url(url):
            raise NotRemoved(f"not an address of the web: {url[:100]!r}")
        normal = urls.normal(url)
        await asyncio.to_thread(self._fetches.forget, normal)
        held = await self._in_turn(partial(self._forget, normal))
        responses, erased = await self._erase(normal)
        scrubbed = (erased, await asyncio.to_thread(self._collection.scrub))
        if self._mementos is not None:
            await self._mementos.forget(normal)
        misses = await asyncio.to_thread(self._misses.erase, url=normal) if from_log else 0
        if from_log and self._missing_now is not None:
            self._missing_now.forget(normal)
        if held:
            self._renew_soon()
        return Removed(
            url=normal,
            held=held,
            responses=responses,
            misses=misses,
            left=await asyncio.to_thread(self._left, all(scrubbed)),
        )

    async def settled(self) -> None:
        """Return once the index, too, has nothing of what was removed."""
        if self._renewing is not None:
            await self._renewing

    async def _erase(self, url: str) -> tuple[int, bool]:
        """How many responses there were, and whether nothing of them is left on disk.

        The cache knows pages by what browsers asked for: of one address there may be several spellings.
        """
        spelt = await self._responses.keys_with(urls.parse(url).authority)
        keys = {url, *(key for key in spelt if _normal(key) == url)}
        found = [len(await self._responses.lookup(key)) for key in keys]
        erased = [await self._responses.erase(key) for key in keys]
        return sum(found), all(erased)

    def _forget(self, url: str) -> bool:
        held = self._collection.remove(url)
        self._hints.forget(url)
        self._pins.forget(url)
        for pin in self._pins.list(_MAX_PINS):
            if pin.target == url:
                self._pins.forget(pin.url)
        return held

    async def _in_turn(self, work: Callable[[], bool]) -> bool:
        """Have it done by the harvester, behind all pages that wait to be read; by another when too many do."""
        done: Future[bool] = Future()
        if self._harvester is None or not self._harvester.later(partial(_carry_out, work, done)):
            return await asyncio.to_thread(work)
        return await asyncio.wrap_future(done)

    def _left(self, scrubbed: bool) -> tuple[str, ...]:
        """What may still have something of the page, in words for the admin."""
        damaged = [
            f"{path.relative_to(self._data)} was set aside as damaged and may still have it"
            for path in sorted(self._data.rglob("*.damaged*"))
        ]
        earlier = [
            f"{path.name} is from before a backup was restored and may still have it"
            for path in sorted(self._data.glob(f"{ASIDE}*"))
        ]
        busy = [] if scrubbed else ["others were reading: free space is overwritten at the next removal"]
        return (*busy, *damaged, *earlier)

    def _renew_soon(self) -> None:
        self._once_more = True
        if self._renewing is None or self._renewing.done():
            self._renewing = asyncio.create_task(self._renew())

    async def _renew(self) -> None:
        while self._once_more:
            self._once_more = False
            if not await asyncio.to_thread(self._collection.renew_index):
                log.warning("words of a removed page are left in the index until the next start")


def _normal(key: str) -> str:
    try:
        return urls.normal(key)
    except ValueError:
        return ""


def _carry_out(work: Callable[[], bool], done: "Future[bool]") -> None:
    if not done.set_running_or_notify_cancel():
        return
    try:
        done.set_result(work())
    except BaseException as error:
        done.set_exception(error)
        raise
