"""How rare every term of the collection is, in one array of a megabyte: for comparing whole texts with each other.

Terms are found by the lowest bits of their hash; a few of them share a place, which whole texts do not notice. What
single terms are worth is asked of `repair.vectors`, which is exact.
"""

import threading

import numpy as np
import numpy.typing as npt

from repair.database import Database
from repair.vectors import FIELDS, SPREAD, Hashes

BUCKETS = 1 << 18
_BODY = FIELDS.index("body")
_GROWN = 0.2  # share by which the collection may change before all is counted anew

Weights = npt.NDArray[np.float32]


def buckets(terms: Hashes) -> npt.NDArray[np.int64]:
    """Where the weights of terms stand."""
    return (terms & np.uint32(BUCKETS - 1)).astype(np.int64)


class Rarities:
    """The weights of a collection's terms, counted when first asked for and when much has changed."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._pages = -1
        self._weights: Weights = np.ones(BUCKETS, np.float32)

    def weights(self, pages: int) -> Weights:
        """1 + ln((1 + N) / (1 + df)) by bucket, for a collection of so many pages."""
        with self._lock:
            if self._pages < 0 or abs(pages - self._pages) > _GROWN * self._pages:
                self._weights = self._counted(pages)
                self._pages = pages
            return self._weights

    def _counted(self, pages: int) -> Weights:
        with self._database.read() as connection:
            # Terms of one page are most of the table and need no row: an empty bucket says the same.
            rows = connection.execute(
                "SELECT key, df FROM term_counts WHERE df > 1 AND key % ? = ?", (SPREAD, _BODY)
            ).fetchall()
        table = np.array(rows, np.int64).reshape(-1, 2)
        df = np.bincount((table[:, 0] // SPREAD) % BUCKETS, table[:, 1], BUCKETS)
        weights: Weights = (1 + np.log((1 + pages) / (1 + np.clip(df, 1, max(1, pages))))).astype(np.float32)
        return weights
