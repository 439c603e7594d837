"""The idf of every term of the collection, in one array of a megabyte, for comparing whole texts with each other.

Terms are located by the lowest bits of their hash; some collide, which does not matter for whole texts.
`repair.collection.index.vectors` has the exact values of single terms.
"""

import threading

import numpy as np
import numpy.typing as npt

from repair.collection.database import Database
from repair.collection.index.vectors import FIELDS, SPREAD, Changed, Hashes

BUCKETS = 1 << 18
_BODY = FIELDS.index("body")
_RECOUNT_AT = 0.2  # the collection may change by this share before all is counted again

Weights = npt.NDArray[np.float32]


def buckets(terms: Hashes) -> npt.NDArray[np.int64]:
    """The positions of the weights of terms."""
    return (terms & np.uint32(BUCKETS - 1)).astype(np.int64)


class InverseFrequencies:
    """The idf weights of a collection's terms, counted on first use and when much has changed."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._pages = -1
        self._weights: Weights = np.ones(BUCKETS, np.float32)

    def weights(self, pages: int) -> Weights:
        """1 + ln((1 + N) / (1 + df)) by bucket, for a collection of `pages` pages."""
        with self._lock:
            if self._pages < 0 or abs(pages - self._pages) > _RECOUNT_AT * self._pages:
                self._weights = self._count_terms(pages)
                self._pages = pages
            return self._weights

    def _count_terms(self, pages: int) -> Weights:
        with self._database.read() as connection:
            # Most terms occur in one page and need no row: an empty bucket means the same.
            rows = connection.execute(
                "SELECT key, df FROM term_counts WHERE df > 1 AND key % ? = ?", (SPREAD, _BODY)
            ).fetchall()
        table = np.array(rows, np.int64).reshape(-1, 2)
        return weights_of(table[:, 0], table[:, 1], pages)


def weights_of(keys: Changed, df: Changed, pages: int) -> Weights:
    """The weights by bucket, from the keys of `term_counts` and their document frequencies above 1."""
    counted = np.bincount((keys // SPREAD) % BUCKETS, df, BUCKETS)
    weights: Weights = (1 + np.log((1 + pages) / (1 + np.clip(counted, 1, max(1, pages))))).astype(np.float32)
    return weights
