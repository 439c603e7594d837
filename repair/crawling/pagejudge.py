"""The probability that a page belongs to a topic: by the topic's words first, by a classifier once there is enough to
learn from.

Examples for the topic are pages that people named, the best held pages for its words, and fetched pages that were
judged clearly; examples against it are held pages drawn at random that are far from its words, fetched pages that
were clearly something else, and what a person said is not this topic. A person's word always counts.

A seed is an example when the crawl begins and again when its page comes. Calibration then sees it in training and in
testing, and takes other pages for less likely than they are. That is strict enough for what is saved, and too strict
for where to look next: see `PageJudge.scout`.
"""

import copy
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from repair.crawling.termcodes import CountedTerms, ModelTable, Numbers, TextBatch, Vocabulary, codes_of
from repair.crawling.topicmodel import Terms, TopicModel
from repair.crawling.topics import Topic
from repair.model import Document
from repair.text import words

BELONGS = 0.5
"""From this probability on, a page counts as one of the topic."""
LEAST_EXAMPLES = 20
"""Of each kind, before anything is learnt; the paper's number."""
_CLEARLY_IN = 0.7
CLEARLY_OUT = 0.3
"""Up to this probability, a page is an example of what the topic is not."""
_MOST_EXAMPLES = 200
_GROWTH = 1.25  # learn again when there are so many times as many examples
_LOOK_SHARE = 20  # look for more examples when there are a twentieth more pages
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
        self._totals = [sum(query.values()) for query in self._queries]
        self._having: dict[str, list[int]] = {}
        for number, query in enumerate(self._queries):
            for term in query:
                self._having.setdefault(term, []).append(number)

    def among(self, terms: Terms) -> list[str]:
        """Those of some terms that the topic has; no others count for `score`."""
        return [term for term in terms if term in self._having]

    def score(self, terms: Terms, *, saturation: float = 2.0) -> float:
        """0 to 1: how much of the best matching query a text has, rare words counting more."""
        counts = Counter(self.among(terms))
        if not counts:
            return 0.0
        return max(
            sum(
                weight * counts[term] / (counts[term] + saturation)
                for term, weight in self._queries[number].items()
            )
            / self._totals[number]
            for number in {number for term in counts for number in self._having[term]}
        )


class TermOdds:
    """Whether words stand rather in pages of the topic or in others: the best clue to a page known by its name only.

    The model cannot give it: most names are in one page or none of those that it learnt from.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._pages = [0, 0]
        self._counts = np.zeros((2, 1024))

    def add(self, page: CountedTerms, *, belongs: bool) -> None:
        """Count the words of a page."""
        self._make_room()
        self._pages[belongs] += 1
        self._counts[int(belongs), codes_of(page)] += 1.0

    def scores(self, texts: TextBatch) -> Numbers:
        """The mean log odds of the words of each text, above 0 for the topic; 0 without words."""
        self._make_room()
        others, ours = (
            (self._counts[kind, texts.codes] + 0.5) / (pages + 1.0) for kind, pages in enumerate(self._pages)
        )
        sums = texts.sum(np.log(ours / others) * texts.counts)
        return sums / np.maximum(1.0, texts.sum(texts.counts.astype(np.float64)))

    def _make_room(self) -> None:
        missing = len(self._vocabulary) - self._counts.shape[1]
        if missing > 0:
            self._counts = np.pad(self._counts, ((0, 0), (0, missing + self._counts.shape[1])))


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
        self.vocabulary = Vocabulary()
        self.odds = TermOdds(self.vocabulary)
        self._learn = learn
        self._positives = list(positives)
        self._counted_positives = [self.vocabulary.count(page) for page in self._positives]
        for kind, pages in (
            (True, self._counted_positives),
            (False, map(self.vocabulary.count, background)),
        ):
            for page in pages:
                self.odds.add(page, belongs=kind)
        scored = sorted(background, key=self.words.score)
        self._far = scored[: math.ceil(len(scored) * _FAR_SHARE)]
        self._fetched: dict[str, tuple[CountedTerms, float]] = {}
        self._verdicts: dict[str, tuple[Terms, bool]] = {}
        self._table: ModelTable | None = None
        self._repeats = True
        self._learnt_from = 0
        self._look_at = 0  # from so many pages on it is worth looking whether there is enough to learn from

    def scout(self) -> "PageJudge":
        """A judge that goes on from what this one knows, and believes more readily: no page is an example twice. It
        is wrong about more pages, but the links of those that it alone takes for pages of the topic are worth
        following. Both have one vocabulary and `odds`."""
        twin = copy.copy(self)
        twin._repeats = False
        twin._fetched, twin._verdicts = dict(self._fetched), dict(self._verdicts)
        return twin

    def judge(self, page: Terms | CountedTerms) -> float:
        """The probability that a page belongs to the topic."""
        if self._table is None:
            return self.words.score(self._terms_of(page))
        if isinstance(page, bytes):
            return float(self._table.probabilities(TextBatch([page]))[0])
        return self._table.model.probability(page)

    def read_links(self, texts: TextBatch) -> Numbers:
        """What the model makes of a few words each, above 0 for the topic; 0 before it has learnt."""
        return self._table.decide(texts) if self._table else np.zeros(texts.size)

    def note_page(self, url: str, page: CountedTerms, probability: float) -> None:
        """Remember a fetched page, counted by the judge's vocabulary, as a possible example."""
        self._fetched[url] = (page, probability)

    def recall(self, url: str, terms: Terms, probability: float, *, belongs: bool) -> None:
        """Know a page of an earlier crawl as if it had just come."""
        counted = self.vocabulary.count(terms)
        self.note_page(url, counted, probability)
        self.odds.add(counted, belongs=belongs)

    def note_verdict(self, url: str, terms: Terms, belongs: bool) -> None:
        """Remember what a person said of a page."""
        self._verdicts[url] = (terms, belongs)
        self._learnt_from = self._look_at = 0

    def learn(self) -> bool:
        """Learn again if there is enough, and enough new; whether anything was learnt."""
        if len(self._fetched) < self._look_at:
            return False
        self._look_at = len(self._fetched) + 1 + len(self._fetched) // _LOOK_SHARE
        positives, negatives = self._examples()
        total = len(positives) + len(negatives)
        if min(len(positives), len(negatives)) < LEAST_EXAMPLES or total < self._learnt_from * _GROWTH:
            return False
        self._table = ModelTable(
            self._learn(list(map(self._terms_of, positives)), list(map(self._terms_of, negatives))),
            self.vocabulary,
        )
        self._learnt_from = total
        pages = [page for page, _ in self._fetched.values()]
        judged = self._table.probabilities(TextBatch(pages)).tolist()
        self._fetched = dict(zip(self._fetched, zip(pages, judged, strict=True), strict=True))
        return True

    def _examples(self) -> tuple[list[Terms | CountedTerms], list[Terms | CountedTerms]]:
        judged = sorted(
            (
                (probability, url)
                for url, (_, probability) in self._fetched.items()
                if url not in self._verdicts
            ),
            reverse=True,
        )
        sure = [url for probability, url in judged if probability >= _CLEARLY_IN]
        other = [url for probability, url in reversed(judged) if probability <= CLEARLY_OUT]
        said = {
            kind: [terms for terms, belongs in self._verdicts.values() if belongs is kind]
            for kind in (True, False)
        }
        fetched = [[self._fetched[url][0] for url in found[:_MOST_EXAMPLES]] for found in (sure, other)]
        negatives: list[Terms | CountedTerms] = [*said[False], *self._far, *fetched[1]]
        if self._repeats:
            return [*said[True], *self._positives, *fetched[0]], negatives
        counted = (*map(self.vocabulary.count, said[True]), *self._counted_positives, *fetched[0])
        return list(dict.fromkeys(counted)), negatives

    def _terms_of(self, page: Terms | CountedTerms) -> Terms:
        return self.vocabulary.terms(page) if isinstance(page, bytes) else page
