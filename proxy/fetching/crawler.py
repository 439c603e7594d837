"""Crawls one topic: links as `TopicCrawl` chooses them, fetched and saved as the fetch queue would.

Every step is committed before the next: a link is claimed before its request, a page is in the collection before its
link is done. Pages that come at about the same time share a commit, and never more than `fetch.at_once` are between
their request and their commit. So `kill -9` loses nothing, and a page that was saved is read from the collection the
next time, not fetched again. What the fetch queue refuses (rules, robots.txt, addresses out of reach, private pages,
secrets in addresses) is refused here by the same code.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from collections.abc import Collection as Collection_
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from proxy.fetching.batches import Batches
from proxy.fetching.connectivity import Connectivity
from proxy.fetching.crawlhelpers import CrawledPage
from proxy.fetching.entries import (
    FetchFailure,
    FetchRefused,
    NoConnectivity,
    NotQueuedError,
    PageRefused,
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
from repair.crawling.frontier import FrontierLink
from repair.crawling.frontierstore import FrontierStore, LinkState, VisitedLink
from repair.crawling.heldpages import held_terms
from repair.crawling.pagejudge import BELONGS, CLEARLY_OUT
from repair.crawling.topiccrawl import JudgedPage, TopicCrawl
from repair.crawling.topicmodel import Terms
from repair.crawling.topicstore import TopicStore
from repair.errors import FileTooCostly
from repair.fetch import FetchLimits
from repair.model import Link, Page
from repair.settings import CollectionSettings
from repair.text import urls
from repair.text.publichosts import is_public_host

log = logging.getLogger(__name__)

T = TypeVar("T")

_POLL_S = 0.2
_SOON_S = 30.0  # a link due within this time is waited for
_LONGEST_WAIT_S = 6 * 3600.0
_NEWS_S = 1.0
_RECORD_KNOWN_EVERY = 50  # pages; what further pages said of a known link is all that `kill -9` may lose
_EXAMPLE_TERMS = 2_000  # kept of a page that was left
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
    read: Callable[[Page], Awaitable[CrawledPage]]
    reading: CollectionSettings
    responses: ResponseStore


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judging:
    """A page to judge; its fingerprint may have been made when it was read."""

    link: FrontierLink
    terms: Terms
    title: str
    language: str
    fingerprint: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Arrival:
    """A page that was judged; `kept` is what has to be saved of it, and `topics` are those that it belongs to."""

    link: FrontierLink
    judged: JudgedPage
    links: Sequence[Link]
    final_url: str
    topics: dict[str, float]
    received: int = 0
    kept: tuple[FetchedPage, PageAddition] | None = None
    held: bool = False


class TopicCrawler:
    """One crawl. For one event loop; what takes long runs in a thread of its own.

    In one thread only: the collection has a connection for each thread, and SQLite drops what the others have read
    whenever one of them writes.
    """

    def __init__(
        self,
        crawl: TopicCrawl,
        store: FrontierStore,
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
        self._inside = {urls.parse(url).host for url in (*crawl.topic.seeds, *start)}
        self._outer_reason = reason_to_stop
        self._on_page = on_page
        self._lock = asyncio.Lock()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="crawl")
        self._later: dict[str, tuple[float, FrontierLink]] = {}
        self._silent = False
        self._elsewhere = 0
        self._heard_at = -_NEWS_S
        self._judging = Batches(self._judge, most=tools.fetch.at_once)
        self._recording = Batches(self._record, most=tools.fetch.at_once)
        self._better_known: dict[str, FrontierLink] = {}
        self._unrecorded_pages = 0

    async def run(self) -> str:
        """Crawl until there is a reason to stop, and return it."""
        await self._in_thread(self._recall)
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
            await self._judging.finish()
            await self._recording.finish()
            await self._in_thread(self._record_known)
            self._thread.shutdown(wait=False)

    async def _in_thread(self, work: Callable[..., T], *arguments: object) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, *arguments)

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
        under_way += self._elsewhere
        reason = self._outer_reason() or self._crawl.reason_to_stop(
            under_way=under_way, postponed=len(self._later)
        )
        if reason is None and not under_way:
            resting = self._tools.host_slots.busy(for_s=_SOON_S)
            if not self._crawl.has_open_links(closed=resting) and not any(
                due_at - time.time() <= _SOON_S and link.host not in resting
                for due_at, link in self._later.values()
            ):
                return "the links that are left are due later"
        return reason

    async def _start(self, tasks: set[asyncio.Task[None]]) -> bool:
        """Start the next links, as many as can be fetched now; False when there is none."""
        now = time.time()
        for url in [url for url, (due_at, _) in self._later.items() if due_at <= now]:
            self._crawl.put_back(self._later.pop(url)[1])
        async with self._lock:
            chosen = await self._in_thread(self._choose, len(tasks), self._tools.host_slots.busy())
        for link, tries, is_held in chosen:
            tasks.add(asyncio.create_task(self._visit(link, tries, is_held)))
        await asyncio.sleep(0)  # so that they take their slots at the hosts before the next are chosen
        return bool(chosen)

    def _choose(self, under_way: int, busy_hosts: Collection_[str]) -> list[tuple[FrontierLink, int, bool]]:
        """Choose and claim links at different hosts: each with how often it was tried, and whether it is held."""
        self._hear_news()
        links: list[FrontierLink] = []
        busy = set(busy_hosts)
        while under_way + len(links) < self._tools.fetch.at_once and not self._reason(under_way + len(links)):
            if (link := self._crawl.choose(busy_hosts=busy)) is None:
                break
            links.append(link)
            busy.add(link.host)
        if not links:
            return []
        claimed = self._store.claim(links)
        for link in links:
            if link.host in claimed.closed:
                self._crawl.put_back(link)
                self._tools.host_slots.leave(link.host, claimed.closed[link.host])
            elif link.url in claimed.later:
                self._later[link.url] = (claimed.later[link.url], link)
            elif link.url not in claimed.tries:
                self._crawl.give_up(link.url)
        held = self._tools.collection.held_among(list(claimed.tries))
        return [
            (link, claimed.tries[link.url], link.url in held) for link in links if link.url in claimed.tries
        ]

    def _hear_news(self) -> None:
        """Take in what other machines found and fetched."""
        if time.monotonic() - self._heard_at < _NEWS_S:
            return
        news = self._store.news()
        self._heard_at, self._elsewhere = time.monotonic(), news.under_way
        for url in news.taken:
            self._crawl.give_up(url)
            self._later.pop(url, None)
        for visited in news.visited:
            self._later.pop(visited.link.url, None)
            _recall_visited(self._crawl, visited)
        self._crawl.take_up(link for link, due_at in news.waiting if not self._wait_until(link, due_at))

    async def _visit(self, link: FrontierLink, tries: int, is_held: bool) -> None:
        try:
            if not is_held or not await self._visit_held(link):
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
        page = await self._in_thread(collection.get, link.url)
        if page is None:
            return False
        links = await self._in_thread(collection.outlinks, link.url)
        terms = await self._in_thread(held_terms, page)
        judged = await self._judging.do(
            _Judging(link=link, terms=terms, title=page.title, language=page.language)
        )
        topics = {self._crawl.topic.name: judged.probability} if judged.belongs else {}
        await self._recording.do(
            _Arrival(link=link, judged=judged, links=links, final_url=link.url, topics=topics, held=True)
        )
        return True

    async def _visit_web(self, link: FrontierLink) -> None:
        tools, settings = self._tools, self._tools.fetch
        try:
            queueable_url(link.url)
        except NotQueuedError as error:
            raise FetchRefused(str(error)) from error
        host = urls.parse(link.url).host
        if not is_public_host(host) and host not in self._inside:
            raise FetchRefused("in a private network, and the crawl did not begin there")
        limits = FetchLimits(max_bytes=settings.max_bytes, timeout_s=settings.timeout_s)
        fetched = await tools.fetcher.fetch(link.url, limits=limits)
        tools.connectivity.note_answer(time.monotonic())
        received = len(fetched.page.body)
        final_url = urls.normal(fetched.page.url)
        if final_url != link.url and self._crawl.knows(final_url):
            raise PermanentFetchError(f"leads to a page that the crawl has: {final_url}")
        reading = await self._read(fetched)
        await tools.saver.check(fetched, reading.judgement)
        addition = self._readable(fetched, reading)
        document = addition.document
        judged = await self._judging.do(
            _Judging(
                link=link,
                terms=reading.terms,
                title=document.title,
                language=document.language,
                fingerprint=reading.fingerprint,
            )
        )
        topics = {self._crawl.topic.name: judged.probability} if judged.belongs else {}
        if self._others:
            topics |= await self._in_thread(self._judge_for_others, judged)
        is_kept = bool(topics) and not judged.duplicate
        if is_kept:
            await tools.saver.pin(fetched)
            if settings.parts:
                received += (await fetch_parts(fetched, tools.fetcher, tools.saver, settings)).received
        await self._recording.do(
            _Arrival(
                link=link,
                judged=judged,
                links=() if document.nofollow else document.links,
                final_url=final_url,
                received=received,
                topics=topics if is_kept else {},
                kept=(fetched, addition) if is_kept else None,
            )
        )

    async def _read(self, fetched: FetchedPage) -> CrawledPage:
        try:
            return await self._tools.read(fetched.page)
        except FileTooCostly as error:
            raise PermanentFetchError(str(error)) from error

    def _readable(self, fetched: FetchedPage, reading: CrawledPage) -> PageAddition:
        addition = reading.addition
        if addition is None:
            raise PermanentFetchError("not a page that can be read")
        if addition.document.noindex:
            raise PageRefused("marked noindex")
        if not self._tools.saver.rulings.may_list(fetched.page):
            raise PageRefused("a rule excludes it from search")
        return addition

    async def _judge(self, pages: "Sequence[_Judging]") -> list[JudgedPage]:
        """Judge pages that came at about the same time, each by what was learnt before. A thread would take longer
        to wake than this takes."""
        async with self._lock:
            return [
                self._crawl.read(
                    page.terms,
                    url=page.link.url,
                    title=page.title,
                    language=page.language,
                    known_fingerprint=page.fingerprint,
                )
                for page in pages
            ]

    def _judge_for_others(self, judged: JudgedPage) -> dict[str, float]:
        found = {other.topic.name: other.judge.judge(judged.terms) for other in self._others}
        return {name: probability for name, probability in found.items() if probability >= BELONGS}

    async def _record(self, arrivals: "Sequence[_Arrival]") -> list[None]:
        async with self._lock:
            await self._in_thread(self._record_all, arrivals)
        return [None] * len(arrivals)

    def _record_all(self, arrivals: "Sequence[_Arrival]") -> None:
        """Save pages, then take them in and commit what came of them."""
        kept = [arrival.kept for arrival in arrivals if arrival.kept is not None]
        if kept:
            self._tools.saver.add_pages(kept)
        with self._store.together():
            new = [self._take_in(arrival) for arrival in arrivals]
            self._crawl.weigh_links()
            for arrival, links in zip(arrivals, new, strict=True):
                self._commit(arrival, links)
            self._unrecorded_pages += len(arrivals)
            if self._unrecorded_pages >= _RECORD_KNOWN_EVERY:
                self._record_known()
            self._store.drop(self._crawl.frontier.drop_least())

    def _take_in(self, arrival: "_Arrival") -> Sequence[FrontierLink]:
        """The links that are new; those that are only better known now are recorded with others."""
        changed = self._crawl.note_page(
            arrival.link,
            arrival.judged,
            arrival.links,
            final_url=arrival.final_url,
            received=arrival.received,
            held=arrival.held,
        )
        self._better_known |= {link.url: link for link in changed if link.parents > 1}
        return [link for link in changed if link.parents == 1]

    def _record_known(self) -> None:
        """Record what is newly known of links that wait. Most links of a page lead where others did before, and to
        write all of them with each page is most of what a crawl would write."""
        waiting = [link for url, link in self._better_known.items() if self._crawl.frontier.get(url) is link]
        self._store.put(waiting)
        self._better_known.clear()
        self._unrecorded_pages = 0

    def _commit(self, arrival: "_Arrival", changed: Sequence[FrontierLink]) -> None:
        link, judged = arrival.link, arrival.judged
        for name, probability in arrival.topics.items():
            self._tools.topics.note_page(arrival.final_url, name, probability)
        if judged.probability <= CLEARLY_OUT and not (arrival.topics or arrival.held or judged.duplicate):
            self._tools.topics.note_counterexample(
                arrival.final_url, self._crawl.topic.name, judged.terms[:_EXAMPLE_TERMS]
            )
        visited = VisitedLink(
            link=link,
            state=LinkState.HELD if arrival.held else LinkState.FETCHED,
            final_url=arrival.final_url,
            probability=0.0 if judged.duplicate else judged.probability,
            fingerprint=judged.fingerprint,
            received=arrival.received,
            note="the same as another page" if judged.duplicate else "",
        )
        self._store.finish(visited, changed)

    async def _record_failure(self, link: FrontierLink, tries: int, failure: FetchFailure) -> None:
        settings, note = self._tools.fetch, str(failure)
        if isinstance(failure, NoConnectivity) and self._tools.connectivity.note_silence(time.monotonic()):
            self._silent = True
            await asyncio.to_thread(self._store.postpone, link.url, until=0.0, note=note, counted=False)
            return
        if isinstance(failure, FetchRefused | PermanentFetchError) or tries >= settings.tries:
            state = LinkState.REFUSED if isinstance(failure, FetchRefused) else LinkState.FAILED
            # What is refused before it is asked for costs nothing, and says nothing of the yield.
            if state is LinkState.FAILED or isinstance(failure, PageRefused):
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
    store: FrontierStore,
    *,
    on_waiting: Callable[[FrontierLink, float], bool] = lambda link, due_at: False,
) -> None:
    """Give a crawl what earlier runs visited and left waiting; `on_waiting` keeps a link back by returning True."""
    for visited in store.visited():
        _recall_visited(crawl, visited)
    waiting = [link for link, due_at in store.waiting() if not on_waiting(link, due_at)]
    crawl.recall_waiting(waiting)


def _recall_visited(crawl: TopicCrawl, visited: VisitedLink) -> None:
    crawl.recall(
        visited.link,
        visited.final_url,
        visited.probability,
        visited.fingerprint,
        received=visited.received,
        held=visited.state is LinkState.HELD,
        refused=visited.state is LinkState.REFUSED,
    )
