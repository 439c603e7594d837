"""Forward term vectors: for every indexed page and field the exact term frequencies and lengths, and over all
pages the document and collection frequencies, so that every score is ours whatever engine finds the candidates.

A term is kept as a hash of 32 bits: no dictionary of millions of words has to be held in memory or looked up.
Among a million different terms some hundred pairs share a hash, which no ranking notices. The vectors live in the
collection's database, one row per page, and follow the index: whoever indexes a page puts its vector.
"""

import struct
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from repair.database import Database
from repair.index import FIELDS as INDEXED
from repair.index import Entry

Hashes = npt.NDArray[np.uint32]
Counts = npt.NDArray[np.float32]

FIELDS = (*INDEXED, "links")
"""The fields of the index, and the addresses and directories that a page links to, each as one term."""

_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS vectors (page INTEGER PRIMARY KEY, vector BLOB NOT NULL)",
    "CREATE TABLE IF NOT EXISTS term_counts (key INTEGER PRIMARY KEY, df INTEGER NOT NULL, cf INTEGER NOT NULL)",
    "CREATE TABLE IF NOT EXISTS field_totals (field INTEGER PRIMARY KEY, pages INTEGER NOT NULL,"
    " length INTEGER NOT NULL)",
)
_HEADER = struct.Struct(f"<{2 * len(FIELDS)}I")
_CHUNK = 500
_SPREAD = 8  # a key is the term's hash times this, plus the number of the field
_MAX_TF = 65_535


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """What is known over all pages of the terms asked for: by field, document and collection frequencies."""

    pages: int
    lengths: tuple[int, ...]
    df: Counts
    cf: Counts

    def mean_length(self, field: int) -> float:
        """The mean length of a field, at least 1."""
        return max(1.0, self.lengths[field] / self.pages) if self.pages else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Vectors:
    """The vectors of some pages side by side: one entry per page, field and term, in no particular order.

    `page` and `field` say where an entry belongs, `lengths` and `distinct` are pages by fields.
    """

    pages: tuple[int, ...]
    term: Hashes
    tf: npt.NDArray[np.uint16]
    segment: npt.NDArray[np.int32]
    lengths: Counts
    distinct: Counts


def term_hash(term: str) -> int:
    """The number under which a term is kept."""
    return zlib.crc32(term.encode("utf-8", "replace"))


def hashes(terms: Iterable[str]) -> Hashes:
    """The numbers of terms, in their order."""
    return np.fromiter((term_hash(term) for term in terms), dtype=np.uint32)


class VectorStore:
    """The vectors of a collection, in its database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        with database.read() as connection:
            there = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'field_totals'").fetchone()
        if there is None:
            with database.write() as connection:
                for statement in _SCHEMA:
                    connection.execute(statement)

    def update(self, entries: Iterable[Entry]) -> None:
        """Put the vectors of pages in the place of older ones; entries without fields are taken out."""
        fresh = {entry.page: _packed(entry) if entry.fields else None for entry in entries}
        changes = _Changes()
        with self._database.write() as connection:
            for page, blob in self._blobs(tuple(fresh)).items():
                changes.count(blob, -1)
                if fresh[page] is None:
                    connection.execute("DELETE FROM vectors WHERE page = ?", (page,))
            for packed in fresh.values():
                if packed is not None:
                    changes.count(packed, 1)
            connection.executemany(
                "INSERT OR REPLACE INTO vectors VALUES (?, ?)",
                [(page, packed) for page, packed in fresh.items() if packed is not None],
            )
            connection.executemany(
                "INSERT INTO term_counts VALUES (?, ?, ?) ON CONFLICT (key)"
                " DO UPDATE SET df = df + excluded.df, cf = cf + excluded.cf",
                changes.rows(),
            )
            connection.executemany(
                "INSERT INTO field_totals VALUES (?, ?, ?) ON CONFLICT (field)"
                " DO UPDATE SET pages = pages + excluded.pages, length = length + excluded.length",
                changes.totals(),
            )

    def get(self, pages: Sequence[int]) -> Vectors:
        """The vectors of pages, in their order; a page without one has nothing in it."""
        blobs = self._blobs(pages)
        count, fields = len(pages), len(FIELDS)
        header = np.zeros((count, 2 * fields), dtype=np.uint32)
        terms: list[npt.NDArray[np.uint32]] = []
        frequencies: list[npt.NDArray[np.uint16]] = []
        for at, page in enumerate(pages):
            blob = blobs.get(page)
            if blob is None:
                continue
            header[at] = np.frombuffer(blob, np.uint32, 2 * fields)
            size = int(header[at, :fields].sum())
            terms.append(np.frombuffer(blob, np.uint32, size, _HEADER.size))
            frequencies.append(np.frombuffer(blob, np.uint16, size, _HEADER.size + 4 * size))
        distinct = header[:, :fields]
        segment = np.repeat(np.arange(count * fields, dtype=np.int32), distinct.ravel())
        return Vectors(
            pages=tuple(pages),
            term=np.concatenate(terms) if terms else np.zeros(0, np.uint32),
            tf=np.concatenate(frequencies) if frequencies else np.zeros(0, np.uint16),
            segment=segment,
            lengths=header[:, fields:].astype(np.float32),
            distinct=distinct.astype(np.float32),
        )

    def missing(self, pages: Sequence[int]) -> bool:
        """Whether any of the pages has no vector."""
        return len(self._blobs(pages)) < len(set(pages))

    def statistics(self, terms: Hashes, fields: Sequence[int] = tuple(range(len(FIELDS)))) -> Statistics:
        """Frequencies of terms by field (fields by terms), and the totals; 0 in fields not asked for."""
        df = np.zeros((len(FIELDS), len(terms)), dtype=np.float32)
        cf = np.zeros((len(FIELDS), len(terms)), dtype=np.float32)
        numbers = enumerate(terms.tolist())
        places = {term * _SPREAD + field: (field, at) for at, term in numbers for field in fields}
        keys = list(places)
        with self._database.read() as connection:
            for start in range(0, len(keys), _CHUNK):
                chunk = keys[start : start + _CHUNK]
                marks = ",".join("?" * len(chunk))
                for key, pages, times in connection.execute(
                    f"SELECT key, df, cf FROM term_counts WHERE key IN ({marks})",  # noqa: S608
                    chunk,
                ):
                    df[places[key]], cf[places[key]] = pages, times
            totals = {
                row[0]: row[1:] for row in connection.execute("SELECT field, pages, length FROM field_totals")
            }
        lengths = tuple(int(totals.get(field, (0, 0))[1]) for field in range(len(FIELDS)))
        held = max((int(pages) for pages, _ in totals.values()), default=0)
        return Statistics(pages=held, lengths=lengths, df=df, cf=cf)

    def _blobs(self, pages: Sequence[int]) -> dict[int, bytes]:
        found: dict[int, bytes] = {}
        with self._database.read() as connection:
            for start in range(0, len(pages), _CHUNK):
                chunk = pages[start : start + _CHUNK]
                marks = ",".join("?" * len(chunk))
                found.update(
                    connection.execute(f"SELECT page, vector FROM vectors WHERE page IN ({marks})", chunk)  # noqa: S608
                )
        return found


class _Changes:
    """How the counts over all pages change, gathered so that each is written once."""

    def __init__(self) -> None:
        self._keys: list[npt.NDArray[np.int64]] = []
        self._times: list[npt.NDArray[np.int64]] = []
        self._signs: list[npt.NDArray[np.int64]] = []
        self._totals = np.zeros((len(FIELDS), 2), dtype=np.int64)

    def count(self, blob: bytes, sign: int) -> None:
        """Add the vector of a page, or with -1 take it away."""
        header = np.frombuffer(blob, np.uint32, 2 * len(FIELDS)).astype(np.int64)
        sizes, lengths = header[: len(FIELDS)], header[len(FIELDS) :]
        total = int(sizes.sum())
        terms = np.frombuffer(blob, np.uint32, total, _HEADER.size).astype(np.int64)
        times = np.frombuffer(blob, np.uint16, total, _HEADER.size + 4 * total).astype(np.int64)
        self._keys.append(terms * _SPREAD + np.repeat(np.arange(len(FIELDS)), sizes))
        self._times.append(sign * times)
        self._signs.append(np.full(total, sign))
        self._totals += sign * np.stack((np.ones_like(lengths), lengths), axis=1)

    def rows(self) -> list[tuple[int, int, int]]:
        """Key, df and cf, in the order of the table."""
        if not self._keys:
            return []
        keys, places = np.unique(np.concatenate(self._keys), return_inverse=True)
        df = np.bincount(places, np.concatenate(self._signs)).astype(np.int64)
        cf = np.bincount(places, np.concatenate(self._times)).astype(np.int64)
        changed = (df != 0) | (cf != 0)
        return list(zip(keys[changed].tolist(), df[changed].tolist(), cf[changed].tolist(), strict=True))

    def totals(self) -> list[tuple[int, int, int]]:
        """Field, pages and length."""
        return [(field, int(pages), int(length)) for field, (pages, length) in enumerate(self._totals)]


def _packed(entry: Entry) -> bytes:
    """Sizes and lengths of the fields, then the hashes field by field, then their frequencies."""
    counted = [_counted(entry.fields.get(name, ())) for name in FIELDS]
    sizes = [len(counts) for counts in counted]
    lengths = [sum(counts.values()) for counts in counted]
    terms = np.fromiter((term for counts in counted for term in counts), np.uint32, sum(sizes))
    times = np.fromiter((tf for counts in counted for tf in counts.values()), np.int64, sum(sizes))
    return (
        _HEADER.pack(*sizes, *lengths)
        + terms.tobytes()
        + np.minimum(times, _MAX_TF).astype(np.uint16).tobytes()
    )


def _counted(terms: Sequence[str]) -> dict[int, int]:
    counts: dict[int, int] = {}
    for term, times in Counter(terms).items():
        number = term_hash(term)
        counts[number] = counts.get(number, 0) + times
    return counts
