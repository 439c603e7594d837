"""Removes a page for good: from the cache, the collection, its index and link graph, and all records about it.

"Gone" means that no file of the data folder contains it any more: freed space is overwritten and journals are
emptied. Only the full-text index takes longer: searches no longer find the page at once, but its words leave the
files when the index has been rebuilt in the background. What other pages say about it, and their links to it, stay.
"""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from proxy.backup.contents import ASIDE
from proxy.errors import DistrictUnavailable, LinkmendError
from proxy.fetching.queue import FetchQueue
from proxy.lessons.store import LESSON_FILE, LESSON_FOLDER, LessonStore
from proxy.lessons.teacherstore import TEACHER_FILE, TeacherStore
from proxy.misses.feed import MissFeed
from proxy.misses.store import MissStore
from proxy.settings import DistrictSettings
from proxy.store.responses import ResponseStore
from repair.collection.collection import Collection
from repair.collection.pins import Pins
from repair.crawling.topicdatabase import FOLDER, NAME, TopicDatabase
from repair.evidence.hints import Hints
from repair.harvest import Harvester
from repair.memento.client import MementoClient
from repair.text import urls

log = logging.getLogger(__name__)

_MAX_PINS = 100_000


class RemovalFailed(LinkmendError):
    """There is nothing to remove at this address."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovalReport:
    """What was removed: whether the page was saved, how many stored responses and misses; what is left to do."""

    url: str
    held: bool
    responses: int
    misses: int
    left: tuple[str, ...] = ()


class PageRemover:
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
        missing_now: MissFeed | None = None,
        on_removed: Callable[[], None] = lambda: None,
        district: DistrictSettings | None = None,
    ) -> None:
        """With a `harvester`, removal waits in its queue: a page it is about to read must not come back. `on_removed`
        is called when the page has left the stores: results that were made before may still have it. The `district`
        is that with which the school crawls."""
        self._data = data
        self._responses, self._collection, self._hints = responses, collection, hints
        self._pins, self._misses, self._fetches = pins, misses, fetches
        self._mementos, self._harvester, self._missing_now = mementos, harvester, missing_now
        self._on_removed = on_removed
        self._district = district
        self._renewing: asyncio.Task[None] | None = None
        self._once_more = False

    async def start(self) -> None:
        """Take up what an earlier process did not get done."""
        if await asyncio.to_thread(self._collection.needs_index_rebuild):
            self._renew_soon()

    async def remove(self, url: str, *, from_log: bool = False) -> RemovalReport:
        """Remove a page; with `from_log` also every miss of it and every mention of it in the miss log."""
        if not urls.is_web_url(url):
            raise RemovalFailed(f"not a web address (start with http:// or https://): {url[:100]!r}")
        normal = urls.normal(url)
        await asyncio.to_thread(self._fetches.forget, normal)
        await asyncio.to_thread(self._forget_in_topics, normal)
        await asyncio.to_thread(self._forget_at_teachers, normal)
        at_district = await asyncio.to_thread(self._forget_at_district, normal)
        held = await self._queue_in_harvester(partial(self._forget, normal))
        responses, erased = await self._erase(normal)
        self._on_removed()
        scrubbed = (erased, await asyncio.to_thread(self._collection.scrub))
        if self._mementos is not None:
            await self._mementos.forget(normal)
        misses = await asyncio.to_thread(self._misses.erase, url=normal) if from_log else 0
        if from_log and self._missing_now is not None:
            self._missing_now.forget(normal)
        if held:
            self._renew_soon()
        return RemovalReport(
            url=normal,
            held=held,
            responses=responses,
            misses=misses,
            left=(*await asyncio.to_thread(self._remaining, all(scrubbed)), *at_district),
        )

    async def wait_until_done(self) -> None:
        """Return once the index, too, has nothing of what was removed."""
        if self._renewing is not None:
            await self._renewing

    async def _erase(self, url: str) -> tuple[int, bool]:
        """The number of responses, and whether nothing of them is left on disk.

        The cache stores pages under the URLs that browsers requested: one address may have several spellings.
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

    def _forget_in_topics(self, url: str) -> None:
        folder = self._data / FOLDER
        if (folder / NAME).exists():
            with closing(TopicDatabase(folder)) as topics:
                topics.forget(url)

    def _forget_at_teachers(self, url: str) -> None:
        """In lessons, teachers' pages, proposals, and what pupils looked for."""
        folder = self._data / LESSON_FOLDER
        for name, store in ((LESSON_FILE, LessonStore), (TEACHER_FILE, TeacherStore)):
            if (folder / name).exists():
                with closing(store(folder / name)) as opened:
                    opened.forget(url)

    def _forget_at_district(self, url: str) -> tuple[str, ...]:
        """Among the links that schools crawl together; pages and what was told reach the district by themselves."""
        if self._district is None or not (self._district.database and self._district.shared_crawl):
            return ()
        from proxy.district.crawling.sharedfrontier import forget_link  # only districts have its driver

        try:
            forget_link(self._district, url)
        except DistrictUnavailable as error:
            return (f"the district does not answer: links to crawl may still name the page ({error})",)
        return ()

    async def _queue_in_harvester(self, work: Callable[[], bool]) -> bool:
        """Run the work in the harvester's queue, behind all waiting pages; in another thread when too many wait."""
        done: Future[bool] = Future()
        if self._harvester is None or not self._harvester.later(partial(_carry_out, work, done)):
            return await asyncio.to_thread(work)
        return await asyncio.wrap_future(done)

    def _remaining(self, scrubbed: bool) -> tuple[str, ...]:
        """Where something of the page may remain, in words for the admin."""
        damaged = [
            f"{path.relative_to(self._data)} was moved aside as damaged and may still contain the page"
            for path in sorted(self._data.rglob("*.damaged*"))
        ]
        earlier = [
            f"{path.name} dates from before a restore and may still contain the page"
            for path in sorted(self._data.glob(f"{ASIDE}*"))
        ]
        busy = [] if scrubbed else ["the database was in use: freed space is overwritten at the next removal"]
        return (*busy, *damaged, *earlier)

    def _renew_soon(self) -> None:
        self._once_more = True
        if self._renewing is None or self._renewing.done():
            self._renewing = asyncio.create_task(self._renew())

    async def _renew(self) -> None:
        while self._once_more:
            self._once_more = False
            if not await asyncio.to_thread(self._collection.rebuild_index):
                log.warning("index: words of a removed page stay until the next start")


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
