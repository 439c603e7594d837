"""How common terms are among all pages of the district: counted by one machine, kept by every school.

A ranking looks up hundreds of terms, a compound in a URL alone some dozens. Asked one by one over a line that would
take seconds; so the counts travel as one table, a few megabytes a day. Up to 200,000 pages all are counted, beyond
that an even sample (page numbers are hashes), scaled up: of a sample of that size the idf of a term that matters is
known to a hundredth. The same table gives a school of fifty pages the counts of the whole.
"""

import io
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from repair.collection.index.idf import BUCKETS, Weights, weights_of
from repair.collection.index.vectors import (
    FIELDS,
    SPREAD,
    CountChanges,
    Hashes,
    TermStatistics,
    is_packed,
    term_hash,
)

SAMPLED = 200_000
_BODY = FIELDS.index("body")
_COUNTED = (_BODY, FIELDS.index("url"))  # the fields whose frequencies anybody asks for
_MAX_ROWS = 4_000_000  # 64 MB in memory; rarer terms are left out then

Column = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Census:
    """Document and collection frequencies by `hash * SPREAD + field`, in the order of the keys."""

    pages: int
    lengths: tuple[int, ...]
    keys: Column
    df: Column
    cf: Column
    rarities: Weights

    def document_frequency(self, term: str, name: str = "body") -> int:
        """How many pages have a term in a field."""
        key = term_hash(term) * SPREAD + FIELDS.index(name)
        at = int(np.searchsorted(self.keys, key))
        return int(self.df[at]) if at < len(self.keys) and self.keys[at] == key else 0

    def statistics(self, terms: Hashes, fields: Iterable[int]) -> TermStatistics:
        """Frequencies of terms by field; 0 in fields not asked for."""
        df = np.zeros((len(FIELDS), len(terms)), dtype=np.float32)
        cf = np.zeros((len(FIELDS), len(terms)), dtype=np.float32)
        for field in fields:
            keys = terms.astype(np.int64) * SPREAD + field
            at = np.minimum(np.searchsorted(self.keys, keys), max(0, len(self.keys) - 1))
            known = self.keys[at] == keys if len(self.keys) else np.zeros(len(keys), bool)
            df[field, known], cf[field, known] = self.df[at[known]], self.cf[at[known]]
        return TermStatistics(pages=self.pages, lengths=self.lengths, df=df, cf=cf)


EMPTY = Census(
    pages=0,
    lengths=(0,) * len(FIELDS),
    keys=np.zeros(0, np.int64),
    df=np.zeros(0, np.int64),
    cf=np.zeros(0, np.int64),
    rarities=np.ones(BUCKETS, np.float32),
)


def count(vectors: Iterable[bytes], *, share: float = 1.0) -> Census:
    """The census of pages by their term vectors; with a `share` they are a sample of that part of all."""
    changes, pages = CountChanges(), 0
    for vector in vectors:
        if is_packed(vector):
            changes.count(vector, 1)
            pages += 1
    rows = np.array(changes.rows(), np.int64).reshape(-1, 3)
    rows = rows[np.isin(rows[:, 0] % SPREAD, _COUNTED)]
    if len(rows) > _MAX_ROWS:
        least = np.partition(rows[:, 1], -_MAX_ROWS)[-_MAX_ROWS]
        rows = rows[rows[:, 1] > least]
    scaled = np.rint(rows[:, 1:] / share).astype(np.int64)
    lengths = tuple(int(length / share) for _, _, length in changes.totals())
    return _census(round(pages / share), lengths, rows[:, 0], scaled[:, 0], scaled[:, 1])


def write(census: Census) -> bytes:
    """The census as bytes to send or to save."""
    file = io.BytesIO()
    totals = np.array([census.pages, *census.lengths], np.int64)
    np.savez_compressed(file, totals=totals, keys=census.keys, df=census.df, cf=census.cf)
    return file.getvalue()


def read(data: bytes) -> Census:
    """A census from its bytes; raises ValueError when they are something else."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as parts:
            if sum(part.file_size for part in parts.infolist()) > 2 * 24 * _MAX_ROWS:
                raise ValueError("larger than a census can be")
        with np.load(io.BytesIO(data), allow_pickle=False) as table:
            totals, keys, df, cf = (table[name] for name in ("totals", "keys", "df", "cf"))
    except Exception as error:  # a damaged zip raises whatever its reader meets first
        raise ValueError(f"not a census: {error}") from error
    columns = (keys, df, cf)
    if totals.shape != (1 + len(FIELDS),) or any(
        column.dtype != np.int64 or column.shape != keys.shape or keys.ndim != 1 for column in columns
    ):
        raise ValueError("not a census of these fields")
    pages, *lengths = (int(total) for total in totals)
    return _census(pages, tuple(lengths), *columns)


def _census(pages: int, lengths: tuple[int, ...], keys: Column, df: Column, cf: Column) -> Census:
    body = (keys % SPREAD == _BODY) & (df > 1)
    rarities = weights_of(keys[body], df[body], pages)
    return Census(pages=pages, lengths=lengths, keys=keys, df=df, cf=cf, rarities=rarities)
