"""Candidates: held pages that may be what a query is after, with the score that each way of asking gives them.

Asking in several ways finds more than asking once: a page may be found by its title alone, or by its text alone.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol

from repair.clues import Clues
from repair.collection import Found
from repair.index import WEIGHTS
from repair.model import Query
from repair.pages import Brief
from repair.query import STRONG

_LIMIT = 60
_CALLED = 25
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
)


def pages_for(collection: Findable, clues: Clues, ways: Sequence[Way] = WAYS) -> dict[int, float]:
    """Numbers of pages that some way of asking finds, each with the best reciprocal rank it has among them."""
    found: dict[int, float] = {}
    for way in ways:
        weights: dict[str, float] = {}
        for name, factor in way.clues.items():
            for term, weight in clues.terms.get(name, {}).items():
                weights[term] = weights.get(term, 0.0) + factor * weight
        for rank, (page, _) in enumerate(
            collection.hits(weights.items(), limit=way.limit, weights=way.fields)
        ):
            found[page] = max(found.get(page, 0.0), 1 / (1 + rank))
    called = [(name, 1.0) for name in clues.calls()]
    for rank, (page, _) in enumerate(collection.hits(called, limit=_CALLED, weights={"names": 1.0})):
        found[page] = max(found.get(page, 0.0), 1 / (1 + rank))
    for url in clues.moves:
        page_there = collection.page_number(url)
        if page_there is not None:
            found[page_there] = 1.0
    return found


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
