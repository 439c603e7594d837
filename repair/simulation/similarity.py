"""Similarity of pages' contents: cosines of their term vectors, one page against some or against all.

For evaluation (Sim@1 and its oracle, Bashir section 5.3), not for ranking: all vectors are in memory at once.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from repair.collection.collection import Collection
from repair.collection.index.vectors import FIELDS

_TEXT = (FIELDS.index("title"), FIELDS.index("body"))
_SLICE = 2_000


class Similarity:
    """Cosines of tf x idf over title and body, by page number."""

    def __init__(self, collection: Collection) -> None:
        pages = collection.numbers()
        rows, terms, weights = entries(collection, pages, _TEXT)
        self._place = {page: at for at, page in enumerate(pages)}
        self._pages = np.array(pages, np.int64)
        vocabulary, columns = np.unique(terms, return_inverse=True)
        df = np.bincount(columns, minlength=len(vocabulary))
        values = weights * (1 + np.log((1 + len(pages)) / (1 + df)))[columns]
        norms = np.sqrt(np.bincount(rows, values * values, len(pages)))
        values /= np.maximum(norms[rows], 1e-9)
        order = np.argsort(columns, kind="stable")
        self._rows, self._values = rows[order], values[order].astype(np.float32)
        self._starts = np.concatenate(([0], np.cumsum(df)))
        by_row = np.argsort(rows, kind="stable")
        self._columns, self._own = columns[by_row], values[by_row].astype(np.float32)
        self._bounds = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=len(pages)))))

    def to_all(self, page: int) -> npt.NDArray[np.float32]:
        """The cosines of a page with every page, in the order of `places`."""
        at = self._place[page]
        sums = np.zeros(len(self._pages), np.float32)
        for entry in range(self._bounds[at], self._bounds[at + 1]):
            column, value = self._columns[entry], self._own[entry]
            found = slice(self._starts[column], self._starts[column + 1])
            sums[self._rows[found]] += value * self._values[found]
        return sums

    def places(self, pages: Sequence[int]) -> npt.NDArray[np.int64]:
        """The positions of pages in the result of `to_all`."""
        return np.array([self._place[page] for page in pages], np.int64)


def entries(
    collection: Collection, pages: Sequence[int], fields: Sequence[int]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint32], npt.NDArray[np.float64]]:
    """Place, term and frequency of every term of every page, summed over the fields."""
    # An empty collection has entries of no length.
    rows, terms = [np.zeros(0, np.int64)], [np.zeros(0, np.uint32)]
    times: list[npt.NDArray[np.float64]] = [np.zeros(0)]
    for start in range(0, len(pages), _SLICE):
        vectors = collection.vectors(pages[start : start + _SLICE])
        kept = np.isin(vectors.segment % len(FIELDS), fields)
        at = vectors.segment[kept].astype(np.int64) // len(FIELDS)
        keys = (at << 32) | vectors.term[kept].astype(np.int64)
        unique, places = np.unique(keys, return_inverse=True)
        rows.append((unique >> 32) + start)
        terms.append((unique & 0xFFFFFFFF).astype(np.uint32))
        times.append(np.bincount(places, vectors.tf[kept], len(unique)).astype(np.float64))
    return np.concatenate(rows), np.concatenate(terms), np.concatenate(times)
