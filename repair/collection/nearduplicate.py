"""The twin of a text: the held page that says nearly the same, wherever it stands now.

Looked up by title and checked by the cosine of the exact term frequencies, so that nothing has to be prepared.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

import numpy as np

from repair import words
from repair.model import Document
from repair.pages import Brief
from repair.structure import squeezed
from repair.vectors import FIELDS, Vectors, term_hash

ALIKE = 0.75
"""The cosine from which two texts are taken for the same page."""
_LOOKED_AT = 12
_BODY = FIELDS.index("body")


class Twinnable(Protocol):
    """Where twins are looked for."""

    def hits(
        self, terms: Iterable[tuple[str, float]], *, limit: int, weights: Mapping[str, float]
    ) -> tuple[tuple[int, float], ...]:
        """Page numbers and scores, best first."""

    def briefs(self, pages: Sequence[int]) -> dict[int, Brief]:
        """What ranking needs of pages, by number."""

    def vectors(self, pages: Sequence[int]) -> Vectors:
        """The term vectors of pages, in their order."""


def twin(collection: Twinnable, document: Document, *, alike: float = ALIKE) -> str | None:
    """The address of the held page that says nearly the same as a document; None when there is none."""
    terms = [(term, 1.0) for term in words.terms(document.title, document.language)]
    found = collection.hits(terms, limit=_LOOKED_AT, weights={"title": 1.0})
    found += collection.hits([(squeezed(document.title), 1.0)], limit=_LOOKED_AT, weights={"names": 1.0})
    pages = list(dict.fromkeys(page for page, _ in found))
    counts: Counter[int] = Counter(map(term_hash, words.terms(document.text, document.language)))
    if not pages or not counts:
        return None
    likest, cosine = _likest(collection.vectors(pages), counts)
    if cosine < alike:
        return None
    brief = collection.briefs([likest]).get(likest)
    return brief.url if brief is not None else None


def _likest(vectors: Vectors, counts: Mapping[int, int]) -> tuple[int, float]:
    mine = np.sqrt(sum(tf * tf for tf in counts.values()))
    body = vectors.segment % len(FIELDS) == _BODY
    rows, tf = vectors.segment[body] // len(FIELDS), vectors.tf[body].astype(np.float64)
    asked = np.fromiter(
        (counts.get(term, 0) for term in vectors.term[body].tolist()), np.float64, int(body.sum())
    )
    size = len(vectors.pages)
    dots = np.bincount(rows, asked * tf, size)
    norms = np.sqrt(np.bincount(rows, tf * tf, size))
    cosines = dots / np.maximum(norms * mine, 1e-9)
    best = int(cosines.argmax())
    return vectors.pages[best], float(cosines[best])
