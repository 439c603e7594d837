"""A whole collection in memory, term by term, so that any query can be scored exactly against every page.

For measuring only: the proxy asks its index instead. A page's text is its title, its body and the words of its own
address: search engines index these too, and without them URL words would be believed less than they deserve.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from repair import scores
from repair.collection import Collection
from repair.similarity import entries
from repair.vectors import FIELDS, hashes, term_hash

Numbers = npt.NDArray[np.int64]
Values = npt.NDArray[np.floating[Any]]

_TEXT = tuple(FIELDS.index(name) for name in ("title", "url", "body"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Matched:
    """The pages that have any of the terms asked for: their places, and all that a weighting needs of them."""

    places: Numbers
    tf: Values
    lengths: Values
    mean_length: float
    df: Values
    background: Values
    pages: int


WEIGHTINGS: Mapping[str, Callable[[Matched], Values]] = {
    "tf": lambda m: scores.tf_sum(m.tf, _ones(m))[:, 0],
    "df": lambda m: scores.df_sum(m.tf, m.df, m.pages, _ones(m))[:, 0],
    "tfidf": lambda m: scores.tf_idf(m.tf, scores.idf(m.df, m.pages), _ones(m))[:, 0],
    "bm25": lambda m: scores.bm25(m.tf, m.lengths, m.mean_length, scores.idf(m.df, m.pages), _ones(m))[:, 0],
    "lm": lambda m: scores.dirichlet(m.tf, m.lengths, m.background, _ones(m))[:, 0],
}
"""Bashir's five weightings; `lm` is his LM2000. Every term of a query counts alike."""


class Postings:
    """Every page's term frequencies by term. By place: `numbers` are the pages' own, ascending; `lengths`."""

    def __init__(self, collection: Collection) -> None:
        pages = sorted(collection.numbers())
        rows, terms, times = entries(collection, pages, _TEXT)
        self.numbers = np.array(pages, np.int64)
        self._terms, columns, df = np.unique(terms, return_inverse=True, return_counts=True)
        order = np.argsort(columns, kind="stable")
        self._rows, self._tf = rows[order], times[order].astype(np.float32)
        self._starts = np.concatenate(([0], np.cumsum(df)))
        self.lengths = np.bincount(rows, times, len(pages)).astype(np.float32)
        self._total = float(self.lengths.sum())

    @property
    def size(self) -> int:
        """How many pages there are."""
        return len(self.numbers)

    def df(self, term: str) -> int:
        """In how many pages a term is."""
        return len(self._at(term_hash(term))[0])

    def background(self, term: str) -> float:
        """How probable a term is anywhere; one never seen counts as half of one seen once."""
        return max(float(self._at(term_hash(term))[1].sum()), 0.5) / max(1.0, self._total)

    def matched(self, terms: Sequence[str]) -> Matched:
        """The pages that have any of the terms; terms given twice count once."""
        found = [self._at(number) for number in hashes(dict.fromkeys(terms)).tolist()]
        places = np.unique(np.concatenate([rows for rows, _ in found])) if found else np.zeros(0, np.int64)
        tf = np.zeros((len(places), len(found)), np.float32)
        for column, (rows, times) in enumerate(found):
            tf[np.searchsorted(places, rows), column] = times
        return Matched(
            places=places,
            tf=tf,
            lengths=self.lengths[places],
            mean_length=max(1.0, self._total / max(1, self.size)),
            df=np.array([len(rows) for rows, _ in found], np.float32),
            background=np.array([times.sum() for _, times in found], np.float32) / max(1.0, self._total),
            pages=self.size,
        )

    def _at(self, term: int) -> tuple[Numbers, Values]:
        at = int(np.searchsorted(self._terms, term))
        if at == len(self._terms) or self._terms[at] != term:
            return self._rows[:0], self._tf[:0]
        inside = slice(self._starts[at], self._starts[at + 1])
        return self._rows[inside], self._tf[inside]


def best(places: Numbers, values: Values, count: int) -> Numbers:
    """The places of highest value, best first; what is worth the same stays in its order."""
    if len(values) > count:
        kept = np.flatnonzero(values >= np.partition(values, -count)[-count])
        places, values = places[kept], values[kept]
    found: Numbers = places[np.argsort(-values, kind="stable")[:count]]
    return found


def _ones(matched: Matched) -> Values:
    return np.ones((1, matched.tf.shape[1]), np.float32)
