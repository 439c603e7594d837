"""A simulated term: classes that follow a syllabus on a simulated web, and a collection that grows at night, or not.

Every reader belongs to a class, every class to a topic. A tenth of the clicks lead to pages that the school did not
hold when the term began: pages of the class's topic more often than others, popular ones more often than rare ones,
by links of held pages. Some of these pages are dead; of some an archive has a copy, some come back. A click is
answered when the page itself is held by then, or when the first alternative of the repair page is alike. The real
collection, ranking, wants and crawler do the work; only the network and the readers are simulated.
"""

import asyncio
import math
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from repair.collection.collection import Collection
from repair.crawling.classifier import learn_topic
from repair.crawling.pagejudge import PageJudge, document_terms
from repair.crawling.topiccrawl import CrawlPolicy, TopicCrawl
from repair.crawling.topicdatabase import TopicDatabase
from repair.crawling.topicmodel import Terms
from repair.crawling.topics import Topic
from repair.evaluation.simulatedweb import SimulatedTopic, SimulatedWeb
from repair.growing.growthstore import GrowthStore
from repair.growing.neighbours import related_links
from repair.growing.night import NightRun, StepOutcome, StepResult
from repair.growing.nightplan import plan_night
from repair.growing.termvectors import TermWeights, Vector, cosine, unit
from repair.growing.wants import Want, WantedMiss, group_into_wants, profile
from repair.model import BrokenLink, MissKind
from repair.pipeline import Repairer
from repair.settings import CollectionSettings, RepairSettings

Arm = Literal["nothing", "topics", "growing"]
"""What the nights do: nothing, crawls of all topics alike, or what the misses call for."""
ALIKE = 0.5
"""From this cosine to the lost page on, another page counts as an answer."""
_DAY_S = 86_400.0
_BEGIN = 1_700_000_000.0
_OF_TOPIC = 0.8
_DEAD, _ARCHIVED, _COMES_BACK = 0.4, 0.5, 0.2
_PROFILE_PAGES = 40
_SAMPLED = 5  # every so many pages count for how rare terms are
_FOREVER = 1 << 60


@dataclass(frozen=True, slots=True, kw_only=True)
class TermPlan:
    """How large the term is; `night_bytes` is what a night may fetch."""

    nights: int = 20
    topics: int = 20
    readers: int = 300
    clicks: int = 10
    missing: float = 0.1
    held_of_topic: int = 10
    held_others: int = 300
    night_pages: int = 100
    night_bytes: int = 250_000
    least_readers: int = 2
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TermDay:
    """The misses of one day: how many, how many were answered by the page itself, and by an alike one; what the
    nights so far have fetched and saved."""

    misses: int
    right: int
    alike: int
    received: int
    saved: int

    @property
    def share(self) -> float:
        """The share of the misses that were answered."""
        return (self.right + self.alike) / self.misses if self.misses else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TermClick:
    """A click on a link of a held page to one that was not held when the term began."""

    reader: int
    source: str
    target: str
    anchor: str
    before: str
    after: str


class TermWeb:
    """The web of a term: which pages are held, dead, archived, and when dead ones come back; and all clicks."""

    def __init__(self, web: SimulatedWeb, plan: TermPlan) -> None:
        self.web, self.plan = web, plan
        chance = random.Random(plan.seed)  # noqa: S311  (a simulation)
        largest = sorted(web.topics, key=lambda topic: (-len(topic.pages), topic.name))[: plan.topics]
        self.topics = largest
        everything = sorted(web.documents)
        held = dict.fromkeys(chance.sample(everything, min(plan.held_others, len(everything) // 4)))
        for topic in largest:
            pages = sorted(topic.pages)
            held |= dict.fromkeys(chance.sample(pages, min(plan.held_of_topic, len(pages) // 2)))
        self.held = tuple(held)
        self.back_on: dict[str, int] = {}
        """The dead pages, and from which night on they are there again."""
        self.archived: set[str] = set()
        for url in everything:
            if url not in held and chance.random() < _DEAD:
                returns = chance.random() < _COMES_BACK
                self.back_on[url] = chance.randrange(1, plan.nights + 1) if returns else _FOREVER
                if chance.random() < _ARCHIVED:
                    self.archived.add(url)
        self._terms: dict[str, tuple[str, ...]] = {}
        self._vectors: dict[str, Vector] = {}
        self._sample = everything[::_SAMPLED]
        self._frequency: Counter[str] = Counter()
        links, popular = self._links(), self._popularity()
        self.days = [self._clicks(chance, links, popular) for _ in range(plan.nights + 1)]

    def terms(self, url: str) -> tuple[str, ...]:
        """The terms of a page, as the crawler reads it."""
        if url not in self._terms:
            self._terms[url] = tuple(document_terms(self.web.documents[url]))
        return self._terms[url]

    def likeness(self, one: str, other: str) -> float:
        """The cosine of two pages as in `repair.simulation.similarity`: tf x idf, idf of a part of the web."""
        if not self._frequency:
            self._frequency.update(term for url in self._sample for term in frozenset(self.terms(url)))
        for url in (one, other):
            if url not in self._vectors:
                self._vectors[url] = unit(
                    {term: n * self._rarity(term) for term, n in Counter(self.terms(url)).items()}
                )
        return cosine(self._vectors[one], self._vectors[other])

    def _rarity(self, term: str) -> float:
        return 1 + math.log((1 + len(self._sample)) / (1 + self._frequency[term]))

    def is_there(self, url: str, night: int) -> bool:
        """Whether a page can be fetched in a night."""
        return url in self.web.documents and night >= self.back_on.get(url, 0)

    def _clicks(
        self, chance: random.Random, links: Mapping[str, Sequence[TermClick]], popular: Mapping[str, int]
    ) -> list[TermClick]:
        """The clicks of one day to pages that the school did not hold."""
        in_class = max(1, self.plan.readers // len(self.topics))
        clicks = []
        for reader in range(self.plan.readers):
            topic = self.topics[min(reader // in_class, len(self.topics) - 1)]
            for _ in range(self.plan.clicks):
                if chance.random() < self.plan.missing:
                    inside = chance.random() < _OF_TOPIC
                    choices = [
                        each for each in links[topic.name] if not inside or each.target in topic.pages
                    ] or links[topic.name]
                    weights = [popular[each.target] for each in choices]
                    (click,) = chance.choices(choices, weights)
                    clicks.append(_by(click, reader))
        return clicks

    def _links(self) -> dict[str, list[TermClick]]:
        """Links of held pages of each topic that lead to a page which is not held."""
        held = frozenset(self.held)
        return {topic.name: self._links_of(topic, held) for topic in self.topics}

    def _links_of(self, topic: SimulatedTopic, held: frozenset[str]) -> list[TermClick]:
        return [
            TermClick(
                reader=0,
                source=source,
                target=link.target_url,
                anchor=link.anchor,
                before=link.before,
                after=link.after,
            )
            for source in sorted(topic.pages & held)
            for link in self.web.documents[source].links
            if link.target_url in self.web.documents and link.target_url not in held and not link.nav
        ]

    def _popularity(self) -> Counter[str]:
        return Counter(link.target_url for page in self.web.documents.values() for link in page.links)


def _by(click: TermClick, reader: int) -> TermClick:
    return TermClick(
        reader=reader,
        source=click.source,
        target=click.target,
        anchor=click.anchor,
        before=click.before,
        after=click.after,
    )


@dataclass(slots=True)
class _Seen:
    """What the miss log of the school knows of one address."""

    words: str = ""
    times: int = 0
    answered: int = 0
    readers: set[tuple[int, int]] = field(default_factory=set)
    sources: dict[str, None] = field(default_factory=dict)
    last_at: float = 0.0


class TermSchool:
    """A school with its collection, in a term."""

    def __init__(self, world: TermWeb, collection: Collection, store: GrowthStore, arm: Arm) -> None:
        self._world, self._collection, self._store, self._arm = world, collection, store, arm
        self._threads = ThreadPoolExecutor(1)
        self._repairer = Repairer(collection, RepairSettings(), self._threads)
        self._held = set[str]()
        self._seen: dict[str, _Seen] = {}
        self._crawls: dict[str, TopicCrawl] = {}
        self._answers: dict[tuple[str, str], tuple[bool, str]] = {}
        self._answered_at = 0
        self.night = 0
        self.received = self.saved = 0
        for url in world.held:
            self.save(url)
        collection.commit()

    def close(self) -> None:
        self._threads.shutdown()

    def holds(self, url: str) -> bool:
        return url in self._held

    def save(self, url: str) -> None:
        """Put a page into the collection."""
        document = self._world.web.documents[url]
        self._collection.add(document, fetched_at=datetime.fromtimestamp(_BEGIN, UTC))
        self._held.add(url)

    def pay(self, url: str, *, keep: bool = True) -> StepResult:
        """Fetch a page and save it; what it cost."""
        document = self._world.web.documents[url]
        size = len(document.title.encode()) + len(document.text.encode())
        if keep:
            self.save(url)
            self.saved += 1
        self.received += size
        return StepResult(outcome=StepOutcome.SAVED, pages=int(keep), received=size)

    async def live_through(self, clicks: Sequence[TermClick]) -> TermDay:
        """One day: every click answered as a repair page would, and noted as the miss log would."""
        right = alike = 0
        if self._answered_at != self.saved:
            self._answers.clear()
            self._answered_at = self.saved
        for click in clicks:
            if self.holds(click.target):
                right += 1
                continue
            key = (click.source, click.target)
            if key not in self._answers:
                self._answers[key] = await self._repair(click)
            is_alike, query = self._answers[key]
            alike += is_alike
            self._note(click, is_alike, query)
        return TermDay(misses=len(clicks), right=right, alike=alike, received=self.received, saved=self.saved)

    async def _repair(self, click: TermClick) -> tuple[bool, str]:
        found = await self._repairer.repair(
            BrokenLink(
                url=click.target,
                kind=MissKind.NOT_FOUND,
                source_url=click.source,
                anchor=click.anchor,
                before=click.before,
                after=click.after,
            ),
            within_s=60.0,
        )
        offered = [each.url for each in found.alternatives[:1]]
        is_alike = any(self._world.likeness(url, click.target) >= ALIKE for url in offered)
        return is_alike, found.query

    def _note(self, click: TermClick, answered: bool, query: str) -> None:
        seen = self._seen.setdefault(click.target, _Seen())
        seen.words = query or seen.words
        seen.times += 1
        seen.answered += answered
        seen.readers.add((self.night, click.reader))
        seen.sources[click.source] = None
        seen.last_at = _BEGIN + self.night * _DAY_S

    async def sleep(self) -> None:
        """One night."""
        plan = self._world.plan
        budget = plan.night_bytes
        if self._arm == "growing":
            work = TermFetcher(self._world, self)
            wants = self._wants()
            self._store.note_wants(wants)
            planned = plan_night(
                wants,
                holds=self.holds,
                tried=self._store.tried(),
                site_of=lambda url: url,  # the whole simulated web is one site
                now=_BEGIN + self.night * _DAY_S,
                pages=plan.night_pages,
            )
            before = self.received
            await NightRun(work, self._store, pages=plan.night_pages, received=budget).run(planned)
            budget -= self.received - before
        if self._arm != "nothing":
            self._crawl_all(budget)  # what is left, so that both arms spend the same
        self._collection.commit()
        self.night += 1

    def _crawl_all(self, budget: int) -> None:
        """Crawl all topics alike until the bytes are spent."""
        end = self.received + budget
        for place, topic in enumerate(self._world.topics):
            share = (end - self.received) // (len(self._world.topics) - place)
            if share > 0:
                self.crawl(self._topic(topic), pages=self._world.plan.night_pages, received=share)

    def weights(self) -> TermWeights:
        return TermWeights(self._collection.document_frequency, self._collection.size())

    def _wants(self) -> tuple[Want, ...]:
        weights = self.weights()
        profiles = [
            profile(self._topic(topic), self._pages_of(topic)[:_PROFILE_PAGES], weights)
            for topic in self._world.topics
        ]
        misses = [
            WantedMiss(
                url=url,
                words=seen.words,
                times=seen.times,
                readers=len(seen.readers),
                answered=seen.answered,
                sources=tuple(seen.sources),
                last_at=seen.last_at,
            )
            for url, seen in self._seen.items()
            if len(seen.readers) >= self._world.plan.least_readers and not self.holds(url)
        ]
        return group_into_wants(misses, profiles, weights)

    def _topic(self, topic: SimulatedTopic) -> Topic:
        return Topic(name=topic.name, seeds=tuple(sorted(topic.pages.intersection(self._world.held))))

    def _pages_of(self, topic: SimulatedTopic) -> list[Terms]:
        """What the school knows to be of the topic: the pages it began with."""
        return [self._world.terms(url) for url in self._topic(topic).seeds]

    def crawl(self, topic: Topic, *, pages: int, received: int) -> StepResult:
        """Go on with the crawl of a topic."""
        crawl = self._crawls.get(topic.name) or self._begin_crawl(topic)
        begun, saved, looked = self.received, self.saved, 0
        while looked < pages and self.received - begun < received and (link := crawl.choose()) is not None:
            if self.holds(link.url):
                judged = crawl.read(self._world.terms(link.url))
                document = self._world.web.documents[link.url]
                crawl.note_page(link, judged, document.links, final_url=link.url, held=True)
            elif not self._world.is_there(link.url, self.night):
                crawl.note_failure(link)
            else:
                looked += 1
                judged = crawl.read(self._world.terms(link.url))
                self.pay(link.url, keep=judged.belongs)
                links = self._world.web.documents[link.url].links
                crawl.note_page(link, judged, links, final_url=link.url)
        return StepResult(outcome=StepOutcome.SAVED, pages=self.saved - saved, received=self.received - begun)

    def _begin_crawl(self, topic: Topic) -> TopicCrawl:
        background = [self._world.terms(url) for url in self._world.held[: self._world.plan.held_others]]
        positives = [self._world.terms(url) for url in topic.seeds]
        judge = PageJudge(topic, learn_topic, positives=positives, background=background)
        judge.learn()
        policy = CrawlPolicy(max_pages=_FOREVER, max_bytes=_FOREVER, stop_early=False)
        crawl = self._crawls[topic.name] = TopicCrawl(topic, judge, policy)
        crawl.add_seeds(topic.seeds)
        return crawl


class TermFetcher:
    """The network of a night, simulated."""

    def __init__(self, world: TermWeb, school: TermSchool) -> None:
        self._world, self._school = world, school

    async def fetch(self, url: str) -> StepResult:
        """A page of the web."""
        if not self._world.is_there(url, self._school.night):
            return StepResult(outcome=StepOutcome.ABSENT)
        return self._school.pay(url)

    async def fetch_archived(self, url: str) -> StepResult:
        """The archived copy."""
        if url not in self._world.archived:
            return StepResult(outcome=StepOutcome.ABSENT)
        return self._school.pay(url)

    async def find_related(self, miss: WantedMiss, most: int) -> Sequence[str]:
        """Addresses linked beside a lost page."""
        pages = self._world.web.documents
        found = related_links(miss, lambda url: pages[url].links, self._school.weights(), most=4 * most)
        return [url for url in found if not self._school.holds(url)][:most]

    async def crawl(self, want: Want, *, pages: int, received: int) -> StepResult:
        """A small crawl of a topic; misses that fit none are few here and left alone."""
        if want.topic is None:
            return StepResult(outcome=StepOutcome.ABSENT)
        return self._school.crawl(want.topic, pages=pages, received=received)


def simulate_term(world: TermWeb, arm: Arm, folder: Path) -> Iterator[TermDay]:
    """Live through a term in a folder of its own; a day before each night and one after the last."""
    clock = [_BEGIN]
    with (
        closing(Collection.open(folder / "collection", CollectionSettings())) as collection,
        closing(TopicDatabase(folder)) as database,
        closing(TermSchool(world, collection, GrowthStore(database, clock=lambda: clock[0]), arm)) as school,
    ):
        for number, clicks in enumerate(world.days):
            clock[0] = _BEGIN + number * _DAY_S
            yield asyncio.run(school.live_through(clicks))
            if number < world.plan.nights:
                asyncio.run(school.sleep())
