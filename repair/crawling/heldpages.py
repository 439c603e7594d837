"""What the collection already has for a topic: examples to learn from, and pages to start at."""

import random
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass

from repair.collection.collection import Collection
from repair.crawling.pagejudge import PageJudge, TopicWords, page_terms
from repair.crawling.topicmodel import Terms
from repair.crawling.topics import Topic
from repair.model import HeldPage
from repair.text import words

_BACKGROUND = 300
_BEST = 40
_OF_A_QUERY = 10
_MATCH = 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldExamples:
    """`best` are the held pages that match the topic's words best, by address; `background` was drawn at random."""

    best: dict[str, Terms]
    background: tuple[Terms, ...]


def find_held_examples(
    collection: Collection, topic: Topic, *, members: Container[str] = (), seed: int = 0
) -> HeldExamples:
    """Examples for a topic from the saved pages. `members` are those that are known to belong to it: drawn at random
    from a collection that has little else, they would speak against it."""
    chance = random.Random(seed)  # noqa: S311  (an even sample, no secret)
    numbers = collection.numbers()
    drawn = chance.sample(numbers, min(_BACKGROUND, len(numbers)))
    summaries = collection.page_summaries(drawn).values()
    others = [summary.url for summary in summaries if summary.url not in members]
    background = tuple(held_terms(page) for page in _read(collection, others))
    match = TopicWords(topic, background)
    best: dict[str, Terms] = {}
    for query in topic.queries:
        terms = [(term, 1.0) for term in dict.fromkeys(words.terms(query, topic.language))]
        found = [hit.page.url for hit in collection.search(terms, limit=_OF_A_QUERY)] if terms else []
        for page in _read(collection, found):
            if topic.language in ("", page.language) and match.score(read := held_terms(page)) >= _MATCH:
                best.setdefault(page.url, read)
    return HeldExamples(best=dict(list(best.items())[:_BEST]), background=background)


def note_members(judge: PageJudge, collection: Collection, members: Mapping[str, float]) -> None:
    """Let a judge know the saved pages of its topic, by address and probability, as if it had seen them fetched."""
    for page in _read(collection, members):
        judge.recall(page.url, held_terms(page), members[page.url], belongs=True)


def held_terms(page: HeldPage) -> list[str]:
    """The terms of a saved page."""
    return page_terms(page.title, page.text, page.language)


def _read(collection: Collection, addresses: Iterable[str]) -> list[HeldPage]:
    return [page for url in addresses if (page := collection.get(url)) is not None]
