"""The best saved pages of each topic and sub-topic, for people who browse.

A page is good if it surely belongs to the topic, if other pages of the topic link to it (HITS) and pages at all, and
if users open it. The pages of a sub-topic are those of the topic that have its words. A topic that nobody has crawled
yet has the saved pages with all the words of one of its queries. Blocks; some tenths of a second for a large topic.
"""

import math
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from repair.collection.collection import Collection
from repair.collection.listing import BrowsedPage, PageListing
from repair.crawling.pagejudge import BELONGS
from repair.crawling.topicdatabase import NAME, TopicDatabase
from repair.crawling.topics import Topic
from repair.crawling.topicstore import TopicStore
from repair.ranking.hits import hits
from repair.text import words

_MOST_PAGES = 500
_HITS = 300
_UNJUDGED_HITS = 30
_READ_CHARACTERS = 20_000
_FROM_LINKS, _FROM_INLINKS, _FROM_USE = 1.0, 0.5, 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSummary:
    """A topic in a list, and how many of its pages are known."""

    name: str
    subtopics: tuple[str, ...]
    pages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSection:
    """The best pages of a topic (`subtopic` "") or of a sub-topic, and how many there are."""

    subtopic: str
    pages: tuple[BrowsedPage, ...]
    total: int


class TopicGuide:
    """The topics of a data folder over its collection. The file of topics is opened for each call, and not made."""

    def __init__(self, folder: Path, collection: Collection, listing: PageListing) -> None:
        self._folder = folder
        self._collection = collection
        self._listing = listing

    def topics(self) -> tuple[TopicSummary, ...]:
        """All topics, by name."""
        if not (self._folder / NAME).exists():
            return ()
        with closing(TopicDatabase(self._folder)) as database:
            store = TopicStore(database)
            return tuple(
                TopicSummary(
                    name=topic.name, subtopics=topic.subtopics, pages=len(self._belonging(store, topic.name))
                )
                for topic in store.list()
            )

    def urls_of(self, name: str) -> frozenset[str]:
        """The addresses of the pages of a topic."""
        topic, judged = self._load(name)
        if topic is None:
            return frozenset()
        if judged:
            return frozenset(judged)
        numbers = [number for query in topic.queries for number in self._unjudged(topic, query)]
        return frozenset(page.url for page in self._collection.page_summaries(numbers).values())

    def sections(
        self, name: str, *, subtopic: str | None = None, limit: int, offset: int = 0
    ) -> tuple[TopicSection, ...]:
        """The best pages of a topic and of each sub-topic, or of one `subtopic` ("" for the topic itself).

        Sub-topics without a page are left out. Nothing for a topic that does not exist.
        """
        topic, judged = self._load(name)
        if topic is None:
            return ()
        wanted = ("", *topic.subtopics) if subtopic is None else (subtopic,)
        scores = self._scores(judged)
        sections = []
        for each in wanted:
            if each and each not in topic.subtopics:
                continue
            ranked = self._ranked(topic, each, scores)
            shown = ranked[offset : offset + limit]
            described = self._listing.describe(shown)
            pages = tuple(described[number] for number in shown if number in described)
            if pages or subtopic is not None:
                sections.append(TopicSection(subtopic=each, pages=pages, total=len(ranked)))
        return tuple(sections)

    def _load(self, name: str) -> tuple[Topic | None, dict[str, float]]:
        if not (self._folder / NAME).exists():
            return None, {}
        with closing(TopicDatabase(self._folder)) as database:
            store = TopicStore(database)
            topic = store.get(name)
            return topic, self._belonging(store, topic.name) if topic else {}

    def _belonging(self, store: TopicStore, name: str) -> dict[str, float]:
        pages = store.pages(name, limit=_MOST_PAGES)
        return {page.url: page.probability for page in pages if page.probability >= BELONGS}

    def _scores(self, judged: dict[str, float]) -> dict[int, float]:
        """The worth of the judged pages of a topic, by number; best first."""
        known = ((self._collection.page_number(url), value) for url, value in judged.items())
        probabilities = {number: value for number, value in known if number is not None}
        numbers = list(probabilities)
        place = {number: at for at, number in enumerate(numbers)}
        links = self._collection.links_to(numbers)
        inner = {(place[source], place[target]) for source, target in links if source in place}
        pairs = np.array(sorted(inner), dtype=np.int64).reshape(-1, 2)
        _, authority = hits(pairs[:, 0], pairs[:, 1], len(numbers))
        inlinks = np.bincount([place[target] for _, target in links], minlength=len(numbers))
        uses = self._listing.uses(numbers)
        worth = {
            number: probabilities[number]
            * (
                1.0
                + _FROM_LINKS * float(authority[at])
                + _FROM_INLINKS * _relative(int(inlinks[at]), inlinks.max(initial=0))
                + _FROM_USE * _relative(uses.get(number, 0), max(uses.values(), default=0))
            )
            for number, at in place.items()
        }
        return dict(sorted(worth.items(), key=lambda pair: (-pair[1], pair[0])))

    def _ranked(self, topic: Topic, subtopic: str, scores: dict[int, float]) -> Sequence[int]:
        if not scores:
            queries = (subtopic,) if subtopic else topic.queries
            return list(dict.fromkeys(n for query in queries for n in self._unjudged(topic, query)))
        if not subtopic:
            return list(scores)
        found = self._collection.hits(_weighted(subtopic, topic.language), limit=_HITS)
        matching = {number: scores[number] * value for number, value in found if number in scores}
        return sorted(matching, key=lambda number: -matching[number])

    def _unjudged(self, topic: Topic, query: str) -> Iterable[int]:
        """Pages that have all the words of a query."""
        wanted = {term for term, _ in _weighted(query, topic.language)}
        found = [n for n, _ in self._collection.hits([(t, 1.0) for t in wanted], limit=_UNJUDGED_HITS)]
        summaries = self._collection.page_summaries(found)
        for number in found:
            page = self._collection.get(summaries[number].url) if number in summaries else None
            if page is None or topic.language not in ("", page.language):
                continue
            if wanted <= set(words.terms(f"{page.title} \n{page.text[:_READ_CHARACTERS]}", page.language)):
                yield number


def _weighted(query: str, language: str) -> list[tuple[str, float]]:
    return [(term, 1.0) for term in dict.fromkeys(words.terms(query, language))]


def _relative(value: int, most: int) -> float:
    return math.log1p(value) / math.log1p(most) if most else 0.0
