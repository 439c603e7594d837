"""An inverted index of a whole collection in memory, to score any query exactly against every page.

For evaluation only: the proxy uses its full-text index. A page's text is its title, its body and the terms of its
URL: search engines index these too, and without them URL terms would look worse than they are.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from repair.collection.collection import Collection
from repair.collection.index.vectors import FIELDS, hashes, term_hash
from repair.ranking import scoring
from repair.simulation.similarity import entries
from repair.text import urls, words

Numbers = npt.NDArray[np.int64]
Values = npt.NDArray[np.floating[Any]]

_TEXT = ("title", "url", "body")


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchedPostings:
    """The pages that have any of the query terms: their places, and the figures that weightings need."""

    places: Numbers
    tf: Values
    lengths: Values
    mean_length: float
    df: Values
    background: Values
    pages: int


WEIGHTINGS: Mapping[str, Callable[[MatchedPostings], Values]] = {
    "tf": lambda m: scoring.tf_sum(m.tf, _ones(m))[:, 0],
    "df": lambda m: scoring.df_sum(m.tf, m.df, m.pages, _ones(m))[:, 0],
    "tfidf": lambda m: scoring.tf_idf(m.tf, scoring.idf(m.df, m.pages), _ones(m))[:, 0],
    "bm25": lambda m: scoring.bm25(m.tf, m.lengths, m.mean_length, scoring.idf(m.df, m.pages), _ones(m))[
        :, 0
    ],
    "lm": lambda m: scoring.dirichlet(m.tf, m.lengths, m.background, _ones(m))[:, 0],
}
"""Bashir's five weightings; `lm` is his LM2000. All query terms have the same weight."""


class Postings:
    """Term frequencies of every page, by term. `numbers` and `lengths` are by place; page numbers ascend."""

    def __init__(
        self, collection: Collection, fields: Sequence[str] = _TEXT, *, as_written: bool = False
    ) -> None:
        """Over fields of the pages; or over the words of title, text and URL `as_written`, without stems."""
        pages = sorted(collection.numbers())
        if as_written:
            rows, terms, times = _words_as_written(collection, pages)
        else:
            rows, terms, times = entries(collection, pages, [FIELDS.index(name) for name in fields])
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
        """How many pages have a term."""
        return len(self._at(term_hash(term))[0])

    def background(self, term: str) -> float:
        """The probability of a term in the collection; an unseen term counts as half an occurrence."""
        return max(float(self._at(term_hash(term))[1].sum()), 0.5) / max(1.0, self._total)

    def match(self, terms: Sequence[str]) -> MatchedPostings:
        """The pages that have any of the terms; repeated terms count once."""
        found = [self._at(number) for number in hashes(dict.fromkeys(terms)).tolist()]
        places = np.unique(np.concatenate([rows for rows, _ in found])) if found else np.zeros(0, np.int64)
        tf = np.zeros((len(places), len(found)), np.float32)
        for column, (rows, times) in enumerate(found):
            tf[np.searchsorted(places, rows), column] = times
        return MatchedPostings(
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
    """The `count` places of highest value, best first; equal ones keep their order."""
    if len(values) > count:
        kept = np.flatnonzero(values >= np.partition(values, -count)[-count])
        places, values = places[kept], values[kept]
    found: Numbers = places[np.argsort(-values, kind="stable")[:count]]
    return found


def _ones(matched: MatchedPostings) -> Values:
    return np.ones((1, matched.tf.shape[1]), np.float32)


def _words_as_written(
    collection: Collection, pages: Sequence[int]
) -> tuple[Numbers, npt.NDArray[np.uint32], npt.NDArray[np.float64]]:
    """Place, hashed word and frequency of every word of every page."""
    rows: list[int] = []
    found: list[str] = []
    times: list[int] = []
    for at, page in enumerate(pages):
        summary = collection.page_summaries([page]).get(page)
        held = collection.get(summary.url) if summary else None
        if held is None:
            continue
        text = " \n".join((held.title, held.text, *urls.path_words(held.url)))
        counts = Counter(words.tokens(text))
        rows += [at] * len(counts)
        found += counts
        times += counts.values()
    return np.array(rows, np.int64), hashes(found), np.array(times, np.float64)
