"""What a process that crawls holds: the stores of a data folder, and a polite fetcher like that of the fetch queue.

`linkmend crawl` is a process of its own, beside the proxy or without it. scikit-learn is loaded here and never in the
proxy. It does not probe sites for soft 404s: a probe would be a second request at a host.
"""

import asyncio
import gc
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from proxy.app.sharedstate import SharedState
from proxy.district.crawling.hostleases import HostLeases
from proxy.district.crawling.sharedfrontier import SharedFrontier
from proxy.errors import LinkmendError, SettingsError
from proxy.fetching.connectivity import Connectivity
from proxy.fetching.crawler import CrawlTools, TopicCrawler, recall_crawl
from proxy.fetching.crawlhelpers import CrawlHelpers
from proxy.fetching.entries import NotQueuedError
from proxy.fetching.fetcher import Fetcher
from proxy.fetching.hostturns import HostTurns, Turns
from proxy.fetching.politeness import BANDWIDTH_FILE, Bandwidth, HostSlots
from proxy.fetching.queue import queueable_url
from proxy.fetching.refresher import RefreshLimits, RefreshReport, TopicRefresher
from proxy.fetching.rulecheck import FetchRuleCheck
from proxy.fetching.saving import FetchedPageSaver
from proxy.fetching.searchengine import SearchEngine
from proxy.fetching.service import PURPOSE, parent_of
from proxy.http.client import HttpClient
from proxy.http.guard import ConnectGuard
from proxy.nighthours import NightHours
from proxy.reach.policy import ReachPolicy
from proxy.settings import Settings
from proxy.tls.certificates import origin_context
from repair.collection.collection import Collection
from repair.crawling.classifier import learn_topic
from repair.crawling.crawlstore import CrawlStore
from repair.crawling.frontier import FrontierLink
from repair.crawling.frontierstore import CrawlCounts, FrontierStore
from repair.crawling.heldpages import find_held_examples, held_terms, note_members
from repair.crawling.pagejudge import PageJudge
from repair.crawling.revisits import RevisitStore
from repair.crawling.topiccrawl import CrawlPolicy, TopicCrawl
from repair.crawling.topicdatabase import FOLDER, TopicDatabase
from repair.crawling.topics import Topic
from repair.crawling.topicstore import TopicStore
from repair.evidence.hints import Hints
from repair.harvest import Harvester
from repair.locks import lock_alone

if TYPE_CHECKING:
    from proxy.district.crawling.machine import CrawlMachine

_SHOWN_LINKS = 10
_NOTHING_TO_BEGIN = (
    "nothing to begin with: give the topic seeds, save pages that match its words, or set crawl.search"
)
_MEMBERS = 10_000  # saved pages of a topic that are never taken for others
_KNOWN_MEMBERS = 200  # those that a judge learns from, the likeliest first
_OBJECTS = 10_000  # made before Python looks for cycles among the latest: a crawl makes many and few cycles
_QUERIES = 6  # to the search engine, for a topic of a run


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlBudget:
    """What one run may fetch for each topic; None: what is left of the topic's own budget."""

    pages: int | None = None
    bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlReport:
    """What a run did, or would do: `next_links` are those that it would fetch first."""

    topic: str
    counts: CrawlCounts
    pages: int
    stopped: str
    next_links: tuple[FrontierLink, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _PreparedCrawl:
    crawl: TopicCrawl
    store: FrontierStore
    start: tuple[str, ...]


class CrawlProcess:
    """Crawls of a data folder. Made by `open_crawls`."""

    def __init__(
        self,
        database: TopicDatabase,
        tools: CrawlTools,
        settings: Settings,
        frontier: Callable[[str], FrontierStore],
        engine: SearchEngine | None = None,
    ) -> None:
        """`frontier` opens that of a topic, by its name."""
        self.database, self.tools, self._settings = database, tools, settings
        self._frontier = frontier
        self._engine = engine

    async def run(
        self,
        topics: Sequence[Topic],
        budget: CrawlBudget,
        on_page: Callable[[str, int], None],
        *,
        start: Sequence[str] = (),
    ) -> tuple[CrawlReport, ...]:
        """Crawl topics one after the other; each page is judged for all of them. `start` are further addresses to
        begin with. Raises LinkmendError when there is nothing to begin with for any topic."""
        found = {topic.name: (*start, *(await self._ask_engine(topic))) for topic in topics}
        prepared, reports = await asyncio.to_thread(self._prepare_all, topics, budget, found)
        for each in prepared:
            name = each.crawl.topic.name
            crawler = TopicCrawler(
                each.crawl,
                each.store,
                self.tools,
                start=each.start,
                others=[other.crawl for other in prepared if other is not each],
                reason_to_stop=lambda topic=each.crawl.topic: _closed(topic),  # type: ignore[misc]
                on_page=lambda fetched, name=name: on_page(name, fetched),  # type: ignore[misc]
            )
            reports.append(self._report(each, await crawler.run()))
        return tuple(reports)

    async def refresh(
        self, topics: Sequence[Topic], budget: CrawlBudget, on_page: Callable[[str, int], None]
    ) -> tuple[RefreshReport, ...]:
        """Ask again for the pages of topics that are due, one topic after the other."""
        reports = []
        for topic in topics:
            each = await asyncio.to_thread(self._prepare, topic, budget)
            refresher = TopicRefresher(
                each.crawl,
                each.store,
                self.tools,
                RevisitStore(self.database),
                limits=RefreshLimits(
                    pages=budget.pages or topic.max_pages, bytes=budget.bytes or topic.max_bytes
                ),
                reason_to_stop=lambda topic=topic: _closed(topic),  # type: ignore[misc]
                on_page=lambda asked, name=topic.name: on_page(name, asked),  # type: ignore[misc]
            )
            reports.append(await refresher.run())
        return tuple(reports)

    def preview(self, topics: Sequence[Topic], budget: CrawlBudget) -> tuple[CrawlReport, ...]:
        """What `run` would begin with; changes nothing. Raises as `run` does."""
        prepared, reports = self._prepare_all(topics, budget, {})
        for each in prepared:
            recall_crawl(each.crawl, each.store)
            each.crawl.add_seeds(each.start)
            links = sorted(each.crawl.frontier, key=lambda link: link.worth, reverse=True)[:_SHOWN_LINKS]
            reason = _closed(each.crawl.topic) or each.crawl.reason_to_stop() or ""
            reports.append(replace(self._report(each, reason), next_links=tuple(links)))
        return tuple(reports)

    async def _ask_engine(self, topic: Topic) -> tuple[str, ...]:
        """What the search engine finds for a topic; nothing without an engine."""
        if self._engine is None:
            return ()
        found: dict[str, None] = {}
        for query in topic.queries[:_QUERIES]:
            found |= dict.fromkeys(await self._engine.find(query))
        return tuple(found)

    def _prepare_all(
        self, topics: Sequence[Topic], budget: CrawlBudget, found: Mapping[str, Sequence[str]]
    ) -> tuple[list[_PreparedCrawl], list[CrawlReport]]:
        """The crawls that have something to begin with, and what to report of the others. Raises LinkmendError when
        there is none."""
        every = [self._prepare(topic, budget, found.get(topic.name, ())) for topic in topics]
        prepared = [each for each in every if each.start or sum(each.store.counts().states.values())]
        reports = [self._report(each, _NOTHING_TO_BEGIN) for each in every if each not in prepared]
        if reports and not prepared:
            raise LinkmendError(f"{', '.join(report.topic for report in reports)}: {_NOTHING_TO_BEGIN}")
        return prepared, reports

    def _prepare(self, topic: Topic, budget: CrawlBudget, further: Sequence[str] = ()) -> _PreparedCrawl:
        """A crawl with its examples."""
        verdicts = self.tools.topics.verdicts(topic.name)
        members = {page.url: page.probability for page in self.tools.topics.pages(topic.name, limit=_MEMBERS)}
        held = find_held_examples(self.tools.collection, topic, members=members)
        judge = PageJudge(topic, learn_topic, positives=held.best.values(), background=held.background)
        known = [url for url in members if url not in verdicts and url not in held.best][:_KNOWN_MEMBERS]
        note_members(judge, self.tools.collection, {url: members[url] for url in known})
        for url, terms in self.tools.topics.counterexamples(topic.name).items():
            if url not in verdicts and url not in members:
                judge.recall(url, terms, 0.0, belongs=False)
        for url, belongs in verdicts.items():
            if (page := self.tools.collection.get(url)) is not None:
                judge.note_verdict(url, held_terms(page), belongs)
        judge.learn()
        store = self._frontier(topic.name)
        counts = store.counts()
        policy = CrawlPolicy(
            max_pages=topic.max_pages if budget.pages is None else counts.fetched + budget.pages,
            max_bytes=topic.max_bytes if budget.bytes is None else counts.received + budget.bytes,
            host_share=self._settings.crawl.host_share,
            explore=self._settings.crawl.explore,
        )
        start = tuple(filter(_is_queueable, (*topic.seeds, *further, *held.best)))
        crawl = TopicCrawl(topic, judge, policy, verdicts=verdicts)
        return _PreparedCrawl(crawl=crawl, store=store, start=start)

    def _report(self, each: _PreparedCrawl, stopped: str) -> CrawlReport:
        name = each.crawl.topic.name
        return CrawlReport(
            topic=name, counts=each.store.counts(), pages=self.tools.topics.page_count(name), stopped=stopped
        )


@asynccontextmanager
async def open_crawls(
    settings: Settings, data: Path, *, public_only: bool = False, alone: bool = False
) -> AsyncIterator[CrawlProcess]:
    """The stores and the fetcher of a crawl; with `public_only`, nothing in a private network is reached.

    With `alone` its links are this school's own, but it takes turns at hosts with all machines even so. Links of a
    crawl that is shared are those of other schools: then nothing private is reached either.

    Raises LinkmendError: also while another crawl runs, or when the district is to be asked and cannot be.
    """
    if settings.proxy.offline:
        raise LinkmendError("proxy.offline is set: nothing is fetched")
    is_shared = settings.district.shared_crawl and not alone
    settings = replace(settings, soft404=replace(settings.soft404, probe="off"))
    folder = data / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    lock = lock_alone(folder / "crawl.lock")
    if lock is None:
        raise LinkmendError("another crawl of this data folder is running")
    gc.freeze()
    gc.set_threshold(_OBJECTS)
    try:
        database = TopicDatabase(folder)
        shared = SharedState(settings, data)
        collection = Collection.open(data / "collection", settings.collection)
        hints = Hints(collection, settings.repair)
        helpers = CrawlHelpers(collection, data / "collection", settings.collection, settings.repair)
        harvester = Harvester(
            collection, settings.collection, hints, leaves_index=lambda: helpers.keeps_index
        )
        client = HttpClient(
            ConnectGuard(lambda: shared.reach, public_only=public_only or is_shared),
            purpose=PURPOSE,
            parent=lambda: parent_of(settings),
            tls=origin_context(settings.proxy),
            pause_after=Bandwidth(
                lambda: settings.fetch.bytes_per_s, shared=data / "fetch" / BANDWIDTH_FILE
            ).take,
        )
        engine = _open_engine(settings, lambda: shared.reach)
        together = _machine(settings, folder)
        try:
            turns: Turns = HostTurns(data / "fetch" / "hosts")
            if together is not None:
                await asyncio.to_thread(together.start)
                turns = HostLeases(together, turns)
            host_slots = HostSlots(turns=turns)
            rulings = FetchRuleCheck(lambda: shared.rules.ruleset)
            tools = CrawlTools(
                fetcher=Fetcher(
                    client,
                    host_slots,
                    check=rulings.check,
                    pause_s=lambda: settings.fetch.pause_s,
                    behind_parent=lambda: bool(parent_of(settings)),
                ),
                saver=FetchedPageSaver(
                    responses=shared.responses,
                    collection=collection,
                    harvester=harvester,
                    hints=hints,
                    detector=shared.detector,
                    settings=settings.collection,
                    max_bytes=lambda: settings.fetch.max_bytes,
                    rulings=rulings,
                ),
                collection=collection,
                host_slots=host_slots,
                connectivity=Connectivity(),
                topics=TopicStore(database),
                fetch=settings.fetch,
                read=helpers.read,
                reading=settings.collection,
                responses=shared.responses,
            )
            await shared.start()
            frontier: Callable[[str], FrontierStore] = partial(CrawlStore, database)
            if together is not None and is_shared:
                frontier = partial(SharedFrontier, together, database, hosts=settings.fetch.at_once)
            yield CrawlProcess(database, tools, settings, frontier, engine)
        finally:
            await client.close()
            if engine is not None:
                await engine.close()
            if together is not None:
                await asyncio.to_thread(together.close)
            await helpers.close()
            await asyncio.to_thread(harvester.close)
            await asyncio.to_thread(collection.close)
            await shared.close()
            database.close()
    finally:
        os.close(lock)


def _machine(settings: Settings, folder: Path) -> "CrawlMachine | None":
    """This machine among those of the district that crawl; None when it crawls alone."""
    if not settings.district.shared_crawl:
        return None
    try:
        from proxy.district.crawling.machine import CrawlMachine
    except ImportError as error:
        raise SettingsError(f"district.shared_crawl: needs the extra linkmend[district]: {error}") from error
    return CrawlMachine(settings.district, folder)


def _open_engine(settings: Settings, reach: Callable[[], ReachPolicy]) -> SearchEngine | None:
    """The search engine of the settings; it is asked where the admin put it, and nowhere else."""
    template = settings.crawl.search
    if not template:
        return None
    guard = ConnectGuard(reach, chosen=(SearchEngine.place(template),), public_only=True)
    client = HttpClient(
        guard,
        purpose="looks for pages about what a school teaches",
        tls=origin_context(settings.proxy),
        keep_alive=False,
    )
    return SearchEngine(template, client)


def _closed(topic: Topic) -> str | None:
    """Why a topic may not be crawled at this hour."""
    hours = topic.hours
    if hours and not NightHours.parse(hours).holds(datetime.now().astimezone().time()):
        return f"outside its hours ({hours})"
    return None


def _is_queueable(url: str) -> bool:
    try:
        return bool(queueable_url(url))
    except NotQueuedError:
        return False
