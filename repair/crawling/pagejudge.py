"""The probability that a page belongs to a topic: by the topic's words first, by a classifier once there is enough to
learn from.

Examples for the topic are pages that people named, the best held pages for its words, and fetched pages that were
judged clearly; examples against it are held pages drawn at random that are far from its words, fetched pages that
were clearly something else, and what a person said is not this topic. A person's word always counts.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from repair.crawling.topicmodel import Terms, TopicModel
from repair.crawling.topics import Topic
from repair.model import Document
from repair.text import words

BELONGS = 0.5
"""From this probability on, a page counts as one of the topic."""
LEAST_EXAMPLES = 20
"""Of each kind, before anything is learnt; the paper's number."""
_CLEARLY_IN, _CLEARLY_OUT = 0.7, 0.3
_MOST_EXAMPLES = 200
_GROWTH = 1.25  # learn again when there are so many times as many examples
_FAR_SHARE = 0.8
_MAX_PAGE_TERMS = 1_000
_TITLE_WEIGHT = 3

Learn = Callable[[Sequence[Terms], Sequence[Terms]], TopicModel]
"""Makes a model from pages that belong and pages that do not; `repair.crawling.classifier` has one."""


def page_terms(title: str, text: str, language: str = "") -> list[str]:
    """A page as the judge reads it: its terms, those of the title several times."""
    return words.terms(title, language) * _TITLE_WEIGHT + words.terms(text, language)[:_MAX_PAGE_TERMS]


def document_terms(document: Document) -> list[str]:
    """The same for a document."""
    return page_terms(document.title, document.text, document.language)


class TopicWords:
    """How well texts match the words of a topic, before anything is learnt."""

    def __init__(self, topic: Topic, background: Sequence[Terms]) -> None:
        """`background` shows which words are common."""
        frequency = Counter(term for page in background for term in set(page))
        queries = [frozenset(words.terms(query, topic.language)) for query in topic.queries]
        self._queries = [
            {term: math.log1p((len(background) + 1) / (frequency[term] + 0.5)) for term in query}
            for query in queries
            if query
        ]
        self._all = frozenset[str]().union(*queries)

    def score(self, terms: Terms, *, saturation: float = 2.0) -> float:
        """0 to 1: how much of the best matching query a text has, rare words counting more."""
        counts = Counter(term for term in terms if term in self._all)
        if not counts:
            return 0.0
        return max(
            sum(weight * counts[term] / (counts[term] + saturation) for term, weight in query.items())
            / sum(query.values())
            for query in self._queries
        )


class TermOdds:
    """Whether words stand rather in pages of the topic or in others: the best clue to a page known by its name only.

    The model cannot give it: most names are in one page or none of those that it learnt from.
    """

    def __init__(self) -> None:
        self._pages = [0, 0]
        self._counts: tuple[Counter[str], Counter[str]] = (Counter(), Counter())

    def add(self, terms: Iterable[str], *, belongs: bool) -> None:
        """Count the words of a page."""
        self._pages[belongs] += 1
        self._counts[belongs].update(set(terms))

    def score(self, terms: Terms) -> float:
        """The mean log odds of the words, above 0 for the topic; 0 without words."""
        return sum(map(self._odds, terms)) / len(terms) if terms else 0.0

    def _odds(self, term: str) -> float:
        others, ours = (
            (counts[term] + 0.5) / (pages + 1.0)
            for counts, pages in zip(self._counts, self._pages, strict=True)
        )
        return math.log(ours / others)


class PageJudge:
    """Judges pages for one topic, and learns from them."""

    def __init__(
        self,
        topic: Topic,
        learn: Learn,
        *,
        positives: Iterable[Terms] = (),
        background: Sequence[Terms] = (),
    ) -> None:
        """`positives` are trusted examples; `background` are held pages drawn at random."""
        self.words = TopicWords(topic, background)
        self.version = 0
        """Counts how often it has learnt."""
        self.odds = TermOdds()
        self._learn = learn
        self._positives = list(positives)
        for kind, pages in ((True, self._positives), (False, background)):
            for page in pages:
                self.odds.add(page, belongs=kind)
        scored = sorted(background, key=self.words.score)
        self._far = scored[: math.ceil(len(scored) * _FAR_SHARE)]
        self._fetched: dict[str, tuple[Terms, float]] = {}
        self._verdicts: dict[str, tuple[Terms, bool]] = {}
        self._model: TopicModel | None = None
        self._learnt_from = 0

    def judge(self, terms: Terms) -> float:
        """The probability that a page belongs to the topic."""
        return self._model.probability(terms) if self._model else self.words.score(terms)

    def read_link(self, terms: Terms) -> float:
        """What the model makes of a few words, above 0 for the topic; 0 before it has learnt."""
        return self._model.decide(terms) if self._model and terms else 0.0

    def note_page(self, url: str, terms: Terms, probability: float) -> None:
        """Remember a fetched page as a possible example."""
        self._fetched[url] = (terms, probability)
        self.odds.add(terms, belongs=probability >= BELONGS)

    def note_verdict(self, url: str, terms: Terms, belongs: bool) -> None:
        """Remember what a person said of a page."""
        self._verdicts[url] = (terms, belongs)
        self._learnt_from = 0

    def learn(self) -> bool:
        """Learn again if there is enough, and enough new; whether anything was learnt."""
        positives, negatives = self._examples()
        total = len(positives) + len(negatives)
        if min(len(positives), len(negatives)) < LEAST_EXAMPLES or total < self._learnt_from * _GROWTH:
            return False
        self._model = self._learn(positives, negatives)
        self._learnt_from = total
        self.version += 1
        self._fetched = {url: (terms, self.judge(terms)) for url, (terms, _) in self._fetched.items()}
        return True

    def _examples(self) -> tuple[list[Terms], list[Terms]]:
        judged = sorted(
            (
                (probability, url)
                for url, (_, probability) in self._fetched.items()
                if url not in self._verdicts
            ),
            reverse=True,
        )
        sure = [self._fetched[url][0] for probability, url in judged if probability >= _CLEARLY_IN]
        other = [
            self._fetched[url][0] for probability, url in reversed(judged) if probability <= _CLEARLY_OUT
        ]
        said = {
            kind: [terms for terms, belongs in self._verdicts.values() if belongs is kind]
            for kind in (True, False)
        }
        positives = [*said[True], *self._positives, *sure[:_MOST_EXAMPLES]]
        return positives, [*said[False], *self._far, *other[:_MOST_EXAMPLES]]
