"""Candidates: saved pages that may answer a query, with the score of each retrieval query.

Several queries find more than one: a page may be found by its title alone, or by its text alone.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple, Protocol

from repair.collection.collection import FoundPage
from repair.collection.index.fulltext import WEIGHTS, Search
from repair.collection.pages import PageSummary
from repair.model import Query
from repair.ranking.query import STRONG
from repair.ranking.queryfeatures import QueryFeatures

_LIMIT = 60
_NAME_WEIGHTS = 25
_MAX_CANDIDATES = 70  # under 1 in 100 answers of training links rank lower, and pages take time
_TERMS = 16  # of one query; more take twice the time and found no further answer on training links
_NAMES: Mapping[str, float] = MappingProxyType({"title": 2.0, "anchors": 1.0, "url": 1.0})
_BODY: Mapping[str, float] = MappingProxyType({"body": 1.0})


class PageSearch(Protocol):
    """Finds saved pages by terms, and knows how common terms are."""

    def search(
        self, terms: Iterable[tuple[str, float]], *, limit: int, weights: Mapping[str, float] = WEIGHTS
    ) -> tuple[FoundPage, ...]:
        """Saved pages, best first."""


class NumberSearch(Protocol):
    """Finds the numbers of saved pages by terms."""

    def hits_of(self, searches: Sequence[Search]) -> list[tuple[tuple[int, float], ...]]:
        """Page numbers and scores, best first, for each search: all at once, since an index may be far away."""

    def page_numbers(self, addresses: Iterable[str]) -> dict[str, int]:
        """The numbers of those of some URLs that are saved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A page and its BM25 scores by query: `all`, `names`, `body`, `context`; absent where not found."""

    page: PageSummary
    scores: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalQuery:
    """One retrieval query: which query features with which weights, in which fields, and how many pages to take."""

    query_features: Mapping[str, float]
    fields: Mapping[str, float]
    limit: int


class RetrievalTrace(NamedTuple):
    """How a page was found: its best reciprocal rank over the queries, and how many of them found it."""

    best: float
    queries: int


QUERIES: tuple[RetrievalQuery, ...] = (
    RetrievalQuery(
        query_features={"anchor": 1.0}, fields={"title": 2.0, "anchors": 1.0, "url": 1.0}, limit=50
    ),
    RetrievalQuery(
        query_features={"inlinks": 1.0}, fields={"title": 2.0, "anchors": 1.0, "url": 1.0}, limit=40
    ),
    RetrievalQuery(
        query_features={"slug": 1.0, "dirs": 0.3}, fields={"title": 2.0, "url": 1.5, "anchors": 1.0}, limit=50
    ),
    RetrievalQuery(
        query_features={"anchor": 1.0, "inlinks": 1.0, "slug": 1.0, "dirs": 0.5},
        fields={"title": 1.0, "body": 1.0},
        limit=50,
    ),
    RetrievalQuery(
        query_features={"anchor": 1.0, "slug": 1.0, "context": 0.5, "around": 0.5, "dirs": 0.5},
        fields={"body": 1.0},
        limit=30,
    ),
    RetrievalQuery(
        query_features={"anchor": 0.6, "context": 0.5, "around": 0.5, "source": 0.3},
        fields={"body": 1.0},
        limit=30,
    ),
    RetrievalQuery(query_features={"copy": 1.0, "tags": 0.3}, fields={"title": 2.0, "body": 1.0}, limit=30),
)


def pages_for(
    collection: NumberSearch, query_features: QueryFeatures, queries: Sequence[RetrievalQuery] = QUERIES
) -> dict[int, RetrievalTrace]:
    """Numbers of the pages that rank high in some query, or that are known targets."""
    best: dict[int, float] = {}
    times: Counter[int] = Counter()
    for hits in collection.hits_of(list(_searches(query_features, queries))):
        for rank, (page, _) in enumerate(hits):
            best[page] = max(best.get(page, 0.0), 1 / (1 + rank))
            times[page] += 1
    targets = [target.url for target in query_features.known_targets]
    best |= dict.fromkeys(collection.page_numbers(targets).values() if targets else (), 1.0)
    kept = sorted(best, key=lambda page: (-best[page], -times[page], page))[:_MAX_CANDIDATES]
    return {page: RetrievalTrace(best[page], times[page]) for page in kept}


def _searches(query_features: QueryFeatures, queries: Sequence[RetrievalQuery]) -> Iterator[Search]:
    for query in queries:
        weights: dict[str, float] = {}
        for name, factor in query.query_features.items():
            for term, weight in query_features.terms.get(name, {}).items():
                weights[term] = weights.get(term, 0.0) + factor * weight
        heaviest = sorted(weights.items(), key=lambda pair: (-pair[1], pair[0]))[:_TERMS]
        if heaviest:
            yield Search(terms=heaviest, limit=query.limit, weights=query.fields)
    called = [(name, 1.0) for name in query_features.page_names()]
    yield Search(terms=called, limit=_NAME_WEIGHTS, weights={"names": 1.0})


def propose(collection: PageSearch, query: Query) -> tuple[Candidate, ...]:
    """Saved pages for a query, unordered; a ranker orders them."""
    strong = _terms(query, STRONG)
    found_by_query = {
        "all": collection.search(query.terms, limit=_LIMIT),
        "names": collection.search(strong, limit=_LIMIT, weights=_NAMES),
        "body": collection.search(strong, limit=_LIMIT, weights=_BODY),
        "context": collection.search(_terms(query, ("context",)), limit=_LIMIT),
    }
    pages: dict[int, PageSummary] = {}
    scores: dict[int, dict[str, float]] = {}
    for name, hits in found_by_query.items():
        for found in hits:
            pages[found.page.page] = found.page
            scores.setdefault(found.page.page, {})[name] = found.score
    return tuple(Candidate(page=page, scores=scores[number]) for number, page in pages.items())


def _terms(query: Query, sources: Iterable[str]) -> list[tuple[str, float]]:
    wanted = frozenset(sources)
    return [pair for piece in query.evidence if piece.source in wanted for pair in piece.terms]
