"""What a process that grows the collection holds: the miss log, archives, and all that a crawl has.

`linkmend grow` is a process of its own, like `linkmend crawl`; the running proxy starts one every night
(`proxy.app.nights`). It reaches public addresses only: which pages it fetches is decided by what readers missed.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from proxy.app.crawling import CrawlBudget, CrawlProcess, open_crawls
from proxy.archives.client import client_from
from proxy.errors import LinkmendError
from proxy.fetching.nightfetcher import PoliteNightFetcher
from proxy.misses.store import MissStore
from proxy.misses.summaries import summarise_misses
from proxy.settings import Settings
from repair.collection.collection import Collection
from repair.crawling.crawlstore import CrawlStore
from repair.crawling.heldpages import held_terms
from repair.crawling.topics import MAX_NAME, Topic
from repair.crawling.topicstore import TopicStore
from repair.growing.growthstore import GrowthStore, Night
from repair.growing.night import NightRun, StepOutcome, StepResult
from repair.growing.nightplan import PlannedWant, plan_night
from repair.growing.termvectors import TermWeights
from repair.growing.wants import Want, group_into_wants, profile
from repair.memento.client import MementoClient
from repair.text import urls

OWN_TOPIC = "missed: "
"""How the names of topics begin that nobody wrote down; they last for one crawl."""
_PROFILE_PAGES = 40
_SOURCES = 20  # pages with the missed links at which a crawl begins


@dataclass(frozen=True, slots=True, kw_only=True)
class NightReport:
    """What a night brought, and why it ended."""

    night: Night
    stopped: str


class GrowProcess:
    """The growing of a data folder. Made by `open_growing`."""

    def __init__(
        self, crawls: CrawlProcess, misses: MissStore, mementos: MementoClient, settings: Settings
    ) -> None:
        self._crawls, self._misses, self._mementos = crawls, misses, mementos
        self._settings = settings
        self._store = GrowthStore(crawls.database)

    def plan(self) -> tuple[PlannedWant, ...]:
        """What the night would do; changes nothing and asks nobody. Blocks."""
        return self._plan(self._wants())

    async def run(self, on_page: Callable[[int], None] = lambda pages: None) -> NightReport:
        """Carry out one night."""
        grow = self._settings.grow
        await asyncio.to_thread(self._store.recover)
        wants = await asyncio.to_thread(self._wants)
        await asyncio.to_thread(self._store.note_wants, wants)
        steps = 0

        def on_step() -> None:
            nonlocal steps
            steps += 1
            on_page(steps)

        fetcher = PoliteNightFetcher(self._crawls.tools, self._mementos, self._crawl, on_step)
        plan = await asyncio.to_thread(self._plan, wants)
        stopped = await NightRun(fetcher, self._store, pages=grow.pages, received=grow.bytes).run(plan)
        (night,) = await asyncio.to_thread(self._store.nights, 1)
        return NightReport(night=night, stopped=stopped)

    def _wants(self) -> tuple[Want, ...]:
        grow, tools = self._settings.grow, self._crawls.tools
        since = datetime.now(UTC) - timedelta(weeks=grow.weeks)
        misses = summarise_misses(self._misses, since=since, readers=max(1, grow.readers))
        weights = TermWeights(tools.collection.document_frequency, tools.collection.size())
        profiles = [
            profile(topic, topic_terms(tools.topics, tools.collection, topic), weights)
            for topic in tools.topics.list()
        ]
        return group_into_wants(misses, profiles, weights)

    def _plan(self, wants: tuple[Want, ...]) -> tuple[PlannedWant, ...]:
        return plan_night(
            wants,
            holds=self._crawls.tools.collection.holds,
            tried=self._store.tried(),
            site_of=urls.site,
            now=datetime.now(UTC).timestamp(),
            pages=self._settings.grow.pages,
        )

    async def _crawl(self, want: Want, pages: int, received: int) -> StepResult:
        """Crawl a topic within its own budget; words without a topic get one for the time of the crawl."""
        topic = want.topic or Topic(name=f"{OWN_TOPIC}{want.name}"[:MAX_NAME], words=want.words)
        store = CrawlStore(self._crawls.database, topic.name)
        before = await asyncio.to_thread(store.counts)
        budget = CrawlBudget(
            pages=min(pages, topic.max_pages - before.fetched),
            bytes=min(received, topic.max_bytes - before.received),
        )
        if min(budget.pages or 0, budget.bytes or 0) < 1:
            return StepResult(outcome=StepOutcome.ABSENT, note="the topic's budget is spent")
        held = await asyncio.to_thread(self._begin_crawl, want, store)
        try:
            (report,) = await self._crawls.run([topic], budget, lambda name, fetched: None, start=held)
        except LinkmendError as error:  # nothing to begin with
            return StepResult(outcome=StepOutcome.ABSENT, note=str(error))
        if want.topic is None:
            await asyncio.to_thread(self._crawls.tools.topics.remove, topic.name)
        return StepResult(
            outcome=StepOutcome.SAVED,
            pages=report.counts.fetched - before.fetched,
            received=report.counts.received - before.received,
            note=report.stopped,
        )

    def _begin_crawl(self, want: Want, store: CrawlStore) -> list[str]:
        """The pages with the missed links, where the crawl begins. What was missed is looked for by the night."""
        holds = self._crawls.tools.collection.holds
        missing = [miss.url for miss in want.misses if miss.url and not holds(miss.url)]
        store.set_aside(missing, "looked for by itself")
        sources = dict.fromkeys(source for miss in want.misses for source in miss.sources)
        return [url for url in sources if holds(url)][:_SOURCES]


def topic_terms(topics: TopicStore, collection: Collection, topic: Topic) -> list[list[str]]:
    """The terms of some of a topic's saved pages."""
    pages = (collection.get(page.url) for page in topics.pages(topic.name, limit=_PROFILE_PAGES))
    return [held_terms(page) for page in pages if page is not None]


@asynccontextmanager
async def open_growing(settings: Settings, data: Path) -> AsyncIterator[GrowProcess]:
    """The stores, archives and the fetcher of a night. Raises LinkmendError: also while a crawl runs."""
    async with open_crawls(settings, data, public_only=True, alone=True) as crawls:
        misses = MissStore(data / "misses", settings.misses)
        try:
            async with client_from(settings, data) as mementos:
                yield GrowProcess(crawls, misses, mementos, settings)
        finally:
            await asyncio.to_thread(misses.close)
