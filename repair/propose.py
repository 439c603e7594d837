"""Candidates: held pages that may be what a query is after, with the score that each way of asking gives them.

Asking in several ways finds more than asking once: a page may be found by its title alone, or by its text alone.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

from repair.collection import Found
from repair.index import WEIGHTS
from repair.model import Query
from repair.pages import Brief
from repair.query import STRONG

_LIMIT = 60
_NAMES: Mapping[str, float] = MappingProxyType({"title": 2.0, "anchors": 1.0, "url": 1.0})
_BODY: Mapping[str, float] = MappingProxyType({"body": 1.0})


class Searchable(Protocol):
    """Who finds held pages by terms, and knows how common terms are."""

    def search(
        self, terms: Iterable[tuple[str, float]], *, limit: int, weights: Mapping[str, float] = WEIGHTS
    ) -> tuple[Found, ...]:
        """Held pages, best first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A page and its BM25 scores by way of asking: `all`, `names`, `body`, `context`; absent where not found."""

    page: Brief
    scores: Mapping[str, float]


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
