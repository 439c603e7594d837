"""Candidates: held pages that may be what a query is after, with the score that each way of asking gives them.

Asking in several ways finds more than asking once: a page may be found by its title alone, or by its text alone.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple, Protocol

from repair.clues import Clues
from repair.collection import Found
from repair.index import WEIGHTS
from repair.model import Query
from repair.pages import Brief
from repair.query import STRONG

_LIMIT = 60
_CALLED = 25
_MOST = 70  # of train links' answers fewer than 1 in 100 come further down, and looking at a page takes time
_TERMS = 16  # of one way of asking; more take twice the time and found no further answer on train links
_NAMES: Mapping[str, float] = MappingProxyType({"title": 2.0, "anchors": 1.0, "url": 1.0})
_BODY: Mapping[str, float] = MappingProxyType({"body": 1.0})


class Searchable(Protocol):
    """Who finds held pages by terms, and knows how common terms are."""

    def search(
        self, terms: Iterable[tuple[str, float]], *, limit: int, weights: Mapping[str, float] = WEIGHTS
    ) -> tuple[Found, ...]:
        """Held pages, best first."""


class Findable(Protocol):
    """Who finds numbers of held pages by terms."""

    def hits(
        self, terms: Iterable[tuple[str, float]], *, limit: int, weights: Mapping[str, float] = WEIGHTS
    ) -> tuple[tuple[int, float], ...]:
        """Page numbers and scores, best first."""

    def page_number(self, url: str) -> int | None:
        """The number of a held page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A page and its BM25 scores by way of asking: `all`, `names`, `body`, `context`; absent where not found."""

    page: Brief
    scores: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One way of asking: which clues with which weight, in which fields, and how many pages to take."""

    clues: Mapping[str, float]
    fields: Mapping[str, float]
    limit: int


class Trace(NamedTuple):
    """How a page was found: its best reciprocal rank over the ways of asking, and in how many of them it came up."""

    best: float
    ways: int


WAYS: tuple[Way, ...] = (
    Way(clues={"anchor": 1.0}, fields={"title": 2.0, "anchors": 1.0, "url": 1.0}, limit=50),
    Way(clues={"inlinks": 1.0}, fields={"title": 2.0, "anchors": 1.0, "url": 1.0}, limit=40),
    Way(clues={"slug": 1.0, "dirs": 0.3}, fields={"title": 2.0, "url": 1.5, "anchors": 1.0}, limit=50),
    Way(
        clues={"anchor": 1.0, "inlinks": 1.0, "slug": 1.0, "dirs": 0.5},
        fields={"title": 1.0, "body": 1.0},
        limit=50,
    ),
    Way(
        clues={"anchor": 1.0, "slug": 1.0, "context": 0.5, "around": 0.5, "dirs": 0.5},
        fields={"body": 1.0},
        limit=30,
    ),
    Way(clues={"anchor": 0.6, "context": 0.5, "around": 0.5, "source": 0.3}, fields={"body": 1.0}, limit=30),
    Way(clues={"copy": 1.0, "tags": 0.3}, fields={"title": 2.0, "body": 1.0}, limit=30),
)


def pages_for(collection: Findable, clues: Clues, ways: Sequence[Way] = WAYS) -> dict[int, Trace]:
    """Numbers of the pages that some way of asking finds best, or that a pointer names."""
    best: dict[int, float] = {}
    times: Counter[int] = Counter()
    for hits in _asked(collection, clues, ways):
        for rank, (page, _) in enumerate(hits):
            best[page] = max(best.get(page, 0.0), 1 / (1 + rank))
            times[page] += 1
    for pointer in clues.pointers:
        page_there = collection.page_number(pointer.url)
        if page_there is not None:
            best[page_there] = 1.0
    kept = sorted(best, key=lambda page: (-best[page], -times[page], page))[:_MOST]
    return {page: Trace(best[page], times[page]) for page in kept}


def _asked(
    collection: Findable, clues: Clues, ways: Sequence[Way]
) -> Iterator[tuple[tuple[int, float], ...]]:
    for way in ways:
        weights: dict[str, float] = {}
        for name, factor in way.clues.items():
            for term, weight in clues.terms.get(name, {}).items():
                weights[term] = weights.get(term, 0.0) + factor * weight
        heaviest = sorted(weights.items(), key=lambda pair: (-pair[1], pair[0]))[:_TERMS]
        if heaviest:
            yield collection.hits(heaviest, limit=way.limit, weights=way.fields)
    called = [(name, 1.0) for name in clues.calls()]
    yield collection.hits(called, limit=_CALLED, weights={"names": 1.0})


def propose(collection: Searchable, query: Query) -> tuple[Proposal, ...]:
    """Held pages for a query, unordered; whoever ranks them has the last word."""
    strong = _terms(query, STRONG)
    asked = {
        "all": collection.search(query.terms, limit=_LIMIT),
        "names": collection.search(strong, limit=_LIMIT, weights=_NAMES),
        "body": collection.search(strong, limit=_LIMIT, weights=_BODY),
        "context": collection.search(_terms(query, ("context",)), limit=_LIMIT),
    }
    pages: dict[int, Brief] = {}
    scores: dict[int, dict[str, float]] = {}
    for way, hits in asked.items():
        for found in hits:
            pages[found.page.page] = found.page
            scores.setdefault(found.page.page, {})[way] = found.score
    return tuple(Proposal(page=page, scores=scores[number]) for number, page in pages.items())


def _terms(query: Query, sources: Iterable[str]) -> list[tuple[str, float]]:
    wanted = frozenset(sources)
    return [pair for piece in query.evidence if piece.source in wanted for pair in piece.terms]
