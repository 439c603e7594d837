"""Finds the saved page that says nearly the same as a text, wherever it is now.

Candidates come from a search by title and are checked by the cosine of exact term frequencies, so that nothing has
to be prepared.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

import numpy as np

from repair.collection.index.vectors import FIELDS, TermVectors, term_hash
from repair.collection.pages import PageSummary
from repair.model import Document
from repair.text import words
from repair.text.urlstructure import normalise_name

ALIKE = 0.75
"""The least cosine of two texts that count as the same page."""
_MAX_CHECKED = 12
_BODY = FIELDS.index("body")


class DuplicateLookup(Protocol):
    """The collection searched for near-duplicates."""

    def hits(
        self, terms: Iterable[tuple[str, float]], *, limit: int, weights: Mapping[str, float]
    ) -> tuple[tuple[int, float], ...]:
        """Page numbers and scores, best first."""

    def page_summaries(self, pages: Sequence[int]) -> dict[int, PageSummary]:
        """What ranking needs of pages, by number."""

    def vectors(self, pages: Sequence[int]) -> TermVectors:
        """The term vectors of pages, in their order."""


def find_near_duplicate(
    collection: DuplicateLookup, document: Document, *, alike: float = ALIKE
) -> str | None:
    """The URL of the saved page that says nearly the same as a document; None when there is none."""
    terms = [(term, 1.0) for term in words.terms(document.title, document.language)]
    found = collection.hits(terms, limit=_MAX_CHECKED, weights={"title": 1.0})
    found += collection.hits(
        [(normalise_name(document.title), 1.0)], limit=_MAX_CHECKED, weights={"names": 1.0}
    )
    pages = list(dict.fromkeys(page for page, _ in found))
    counts: Counter[int] = Counter(map(term_hash, words.terms(document.text, document.language)))
    if not pages or not counts:
        return None
    likest, cosine = _most_similar(collection.vectors(pages), counts)
    if cosine < alike:
        return None
    summary = collection.page_summaries([likest]).get(likest)
    return summary.url if summary is not None else None


def _most_similar(vectors: TermVectors, counts: Mapping[int, int]) -> tuple[int, float]:
    mine = np.sqrt(sum(tf * tf for tf in counts.values()))
    body = vectors.segment % len(FIELDS) == _BODY
    rows, tf = vectors.segment[body] // len(FIELDS), vectors.tf[body].astype(np.float64)
    query_tf = np.fromiter(
        (counts.get(term, 0) for term in vectors.term[body].tolist()), np.float64, int(body.sum())
    )
    size = len(vectors.pages)
    dots = np.bincount(rows, query_tf * tf, size)
    norms = np.sqrt(np.bincount(rows, tf * tf, size))
    cosines = dots / np.maximum(norms * mine, 1e-9)
    best = int(cosines.argmax())
    return vectors.pages[best], float(cosines[best])
