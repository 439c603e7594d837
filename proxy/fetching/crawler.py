"""Crawls one topic: links as `TopicCrawl` chooses them, fetched and saved as the fetch queue would.

Every step is committed before the next: a link is claimed before its request, a page is in the collection before its
link is done. So `kill -9` loses nothing, and a page that was saved is read from the collection the next time, not
fetched again. What the fetch queue refuses (rules, robots.txt, addresses out of reach, private pages, secrets in
addresses) is refused here by the same code.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from proxy.fetching.connectivity import Connectivity
from proxy.fetching.entries import (
    FetchFailure,
    FetchRefused,
    NoConnectivity,
    NotQueuedError,
    PermanentFetchError,
    TemporaryFetchError,
)
from proxy.fetching.fetcher import FetchedPage, Fetcher
from proxy.fetching.pageparts import fetch_parts
from proxy.fetching.politeness import HostSlots
from proxy.fetching.queue import queueable_url
from proxy.fetching.saving import FetchedPageSaver
from proxy.settings import FetchSettings
from proxy.store.responses import ResponseStore
from repair.collection.collection import Collection, PageAddition
from repair.crawling.crawlstore import CrawlStore, LinkState, VisitedLink
from repair.crawling.frontier import FrontierLink
from repair.crawling.heldpages import held_terms
from repair.crawling.pagejudge import BELONGS, document_terms
from repair.crawling.topiccrawl import JudgedPage, TopicCrawl
from repair.crawling.topicstore import TopicStore
from repair.errors import FileTooCostly
from repair.fetch import FetchLimits
from repair.harvest import addition_of
from repair.model import Link
from repair.settings import CollectionSettings
from repair.text import urls

log = logging.getLogger(__name__)

_POLL_S = 0.2
_SOON_S = 30.0  # a link due within this time is waited for
_LONGEST_WAIT_S = 6 * 3600.0
_INTERRUPTIONS = 20  # a page during which the process died so often is given up


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlTools:
    """What crawls of all topics share."""

    fetcher: Fetcher
    saver: FetchedPageSaver
    collection: Collection
    host_slots: HostSlots
    connectivity: Connectivity
    topics: TopicStore
    fetch: FetchSettings
    reading: CollectionSettings
    responses: ResponseStore


class TopicCrawler:
    """One crawl. For one event loop; what takes long runs in threads, one at a time."""

    def __init__(
        self,
        crawl: TopicCrawl,
        store: CrawlStore,
        tools: CrawlTools,
        *,
        start: Sequence[str] = (),
        others: Sequence[TopicCrawl] = (),
        reason_to_stop: Callable[[], str | None] = lambda: None,
        on_page: Callable[[int], None] = lambda fetched: None,
    ) -> None:
        """`start` are the addresses to begin with. `others` judge the pages for their topics too. `reason_to_stop`
        tells of reasons beside the crawl's own."""
        self._crawl, self._store, self._tools = crawl, store, tools
        self._start_at, self._others = start, others
        self._outer_reason = reason_to_stop
        self._on_page = on_page
        self._lock = asyncio.Lock()
        self._later: dict[str, tuple[float, FrontierLink]] = {}
        self._silent = False

    async def run(self) -> str:
        """Crawl until there is a reason to stop, and return it."""
        await asyncio.to_thread(self._recall)
        tasks: set[asyncio.Task[None]] = set()
        try:
            while True:
                reason = self._reason(len(tasks))
                if reason is not None and not tasks:
                    return reason
                if reason is None and len(tasks) < self._tools.fetch.at_once and await self._start(tasks):
                    continue
                if tasks:
                    done, tasks = await asyncio.wait(
                        tasks, timeout=_POLL_S, return_when=asyncio.FIRST_COMPLETED
                    )
                    for task in done:
                        task.result()
                else:
                    await asyncio.sleep(_POLL_S)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _recall(self) -> None:
        """Take up what earlier runs left, then the addresses to begin with that are new."""
        self._store.recover(max_tries=_INTERRUPTIONS)
        recall_crawl(self._crawl, self._store, on_waiting=self._wait_until)
        self._store.put(self._crawl.add_seeds(url for url in self._start_at if url not in self._later))

    def _wait_until(self, link: FrontierLink, due_at: float) -> bool:
        """Keep a link back until it is due; False when it is due now."""
        if due_at <= time.time():
            return False
        self._later[link.url] = (due_at, link)
        return True

    def _reason(self, under_way: int) -> str | None:
        if self._silent:
            return "no connection to the internet"
        reason = self._outer_reason() or self._crawl.reason_to_stop(
            under_way=under_way, postponed=len(self._later)
        )
        if reason is None and not under_way and self._later and not self._crawl.has_open_links():
            soonest = min(due_at for due_at, _ in self._later.values())
            if soonest - time.time() > _SOON_S:
                return "the links that are left are due later"
        return reason

    async def _start(self, tasks: set[asyncio.Task[None]]) -> bool:
        """Start the next link, if one can be fetched now."""
        now = time.time()
        for url in [url for url, (due_at, _) in self._later.items() if due_at <= now]:
            self._crawl.put_back(self._later.pop(url)[1])
        async with self._lock:
            link = await asyncio.to_thread(self._crawl.choose, busy_hosts=self._tools.host_slots.busy())
        if link is None:
            return False
        tries = await asyncio.to_thread(self._store.claim, link.url)
        tasks.add(asyncio.create_task(self._visit(link, tries)))
        await asyncio.sleep(0)  # so that it takes its slot at the host before the next is chosen
        return True

    async def _visit(self, link: FrontierLink, tries: int) -> None:
        try:
            if not await self._visit_held(link):
                await self._visit_web(link)
            self._on_page(self._crawl.fetched)
        except FetchFailure as failure:
            await self._record_failure(link, tries, failure)
        except asyncio.CancelledError:
            self._store.postpone(link.url, until=0.0, note="interrupted", counted=False)
            raise
        except Exception as error:  # one odd page must not end the crawl
            log.exception("crawl failed: %s", link.url)
            await self._record_failure(link, tries, TemporaryFetchError(f"{type(error).__name__}: {error}"))

    async def _visit_held(self, link: FrontierLink) -> bool:
        """Read a page from the collection; False when it is not there."""
        collection = self._tools.collection
        page = await asyncio.to_thread(collection.get, link.url)
        if page is None:
            return False
        async with self._lock:
            judged = await asyncio.to_thread(
                lambda: self._crawl.read(held_terms(page), language=page.language, url=link.url)
            )
            links = await asyncio.to_thread(collection.outlinks, link.url)
            await asyncio.to_thread(self._record, link, judged, links, link.url, 0, held=True)
        return True

    async def _visit_web(self, link: FrontierLink) -> None:
        tools, settings = self._tools, self._tools.fetch
        try:
            queueable_url(link.url)
        except NotQueuedError as error:
            raise FetchRefused(str(error)) from error
        limits = FetchLimits(max_bytes=settings.max_bytes, timeout_s=settings.timeout_s)
        fetched = await tools.fetcher.fetch(link.url, limits=limits)
        tools.connectivity.note_answer(time.monotonic())
        received = len(fetched.page.body)
        final_url = urls.normal(fetched.page.url)
        if final_url != link.url and self._crawl.knows(final_url):
            raise PermanentFetchError(f"leads to a page that the crawl has: {final_url}")
        await tools.saver.check(fetched)
        addition = await asyncio.to_thread(self._read, fetched)
        document = addition.document
        async with self._lock:
            judged = await asyncio.to_thread(
                lambda: self._crawl.read(document_terms(document), language=document.language, url=link.url)
            )
        topics = {self._crawl.topic.name: judged.probability} if judged.belongs else {}
        topics |= await asyncio.to_thread(self._judge_for_others, judged)
        if topics and not judged.duplicate:
            await tools.saver.save(fetched, addition)
            for name, probability in topics.items():
                await asyncio.to_thread(tools.topics.note_page, final_url, name, probability)
            received += (await fetch_parts(fetched, tools.fetcher, tools.saver, settings)).received
        links = () if document.nofollow else document.links
        async with self._lock:
            await asyncio.to_thread(self._record, link, judged, links, final_url, received)

    def _read(self, fetched: FetchedPage) -> PageAddition:
        try:
            addition = addition_of(fetched.page, self._tools.reading, pinned=True)
        except FileTooCostly as error:
            raise PermanentFetchError(str(error)) from error
        if addition is None:
            raise PermanentFetchError("not a page that can be read")
        if addition.document.noindex:
            raise FetchRefused("marked noindex")
        if not self._tools.saver.rulings.may_list(fetched.page):
            raise FetchRefused("a rule excludes it from search")
        return addition

    def _judge_for_others(self, judged: JudgedPage) -> dict[str, float]:
        found = {other.topic.name: other.judge.judge(judged.terms) for other in self._others}
        return {name: probability for name, probability in found.items() if probability >= BELONGS}

    def _record(
        self,
        link: FrontierLink,
        judged: JudgedPage,
        links: Sequence[Link],
        final_url: str,
        received: int,
        *,
        held: bool = False,
    ) -> None:
        """Take in a page, and commit what came of it."""
        changed = self._crawl.note_page(
            link, judged, links, final_url=final_url, received=received, held=held
        )
        if held and judged.belongs:
            self._tools.topics.note_page(final_url, self._crawl.topic.name, judged.probability)
        visited = VisitedLink(
            link=link,
            state=LinkState.HELD if held else LinkState.FETCHED,
            final_url=final_url,
            probability=0.0 if judged.duplicate else judged.probability,
            fingerprint=judged.fingerprint,
            received=received,
            note="the same as another page" if judged.duplicate else "",
        )
        self._store.finish(visited, changed)
        self._store.drop(self._crawl.frontier.drop_least())

    async def _record_failure(self, link: FrontierLink, tries: int, failure: FetchFailure) -> None:
        settings, note = self._tools.fetch, str(failure)
        if isinstance(failure, NoConnectivity) and self._tools.connectivity.note_silence(time.monotonic()):
            self._silent = True
            await asyncio.to_thread(self._store.postpone, link.url, until=0.0, note=note, counted=False)
            return
        if isinstance(failure, FetchRefused | PermanentFetchError) or tries >= settings.tries:
            state = LinkState.REFUSED if isinstance(failure, FetchRefused) else LinkState.FAILED
            async with self._lock:
                self._crawl.note_failure(link)
            visited = VisitedLink(
                link=link,
                state=state,
                final_url="",
                probability=None,
                fingerprint=None,
                received=0,
                note=note,
            )
            await asyncio.to_thread(self._store.finish, visited)
            return
        asked_s = failure.after_s if isinstance(failure, TemporaryFetchError) else 0.0
        wait_s = max(asked_s, min(settings.retry_s * 4 ** (tries - 1), _LONGEST_WAIT_S))
        until = time.time() + wait_s
        self._later[link.url] = (until, link)
        await asyncio.to_thread(self._store.postpone, link.url, until=until, note=note)


def recall_crawl(
    crawl: TopicCrawl,
    store: CrawlStore,
    *,
    on_waiting: Callable[[FrontierLink, float], bool] = lambda link, due_at: False,
) -> None:
    """Give a crawl what earlier runs visited and left waiting; `on_waiting` keeps a link back by returning True."""
    for visited in store.visited():
        crawl.recall(
            visited.link,
            visited.final_url,
            visited.probability,
            visited.fingerprint,
            received=visited.received,
            held=visited.state is LinkState.HELD,
        )
    waiting = [link for link, due_at in store.waiting() if not on_waiting(link, due_at)]
    crawl.recall_waiting(waiting)
