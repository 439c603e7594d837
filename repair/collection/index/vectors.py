"""Forward term vectors: exact term frequencies and lengths for every indexed page and field.

With the document and collection frequencies over all pages, every score is ours, whatever engine finds the
candidates. A term is stored as a hash of 32 bits: no dictionary of millions of words has to be kept in memory or
looked up. Among a million different terms some hundred pairs share a hash, which no ranking notices. The vectors
are in the collection's database, one row per page, and follow the index: indexing a page also stores its vector.
"""

import struct
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from zlib import crc32

import numpy as np
import numpy.typing as npt

from repair.collection.database import Database
from repair.collection.index.fulltext import FIELDS as INDEXED
from repair.collection.index.fulltext import IndexEntry

Hashes = npt.NDArray[np.uint32]
Counts = npt.NDArray[np.float32]
Changed = npt.NDArray[np.int64]

FIELDS = (*INDEXED, "links")
"""The fields of the index, and the URLs that a page links to and the directories above them, each as one term."""

_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS vectors (page INTEGER PRIMARY KEY, vector BLOB NOT NULL)",
    "CREATE TABLE IF NOT EXISTS term_counts (key INTEGER PRIMARY KEY, df INTEGER NOT NULL, cf INTEGER NOT NULL)",
    "CREATE TABLE IF NOT EXISTS field_totals (field INTEGER PRIMARY KEY, pages INTEGER NOT NULL,"
    " length INTEGER NOT NULL)",
)
_HEADER = struct.Struct(f"<{2 * len(FIELDS)}I")
_NO_VECTOR = bytes(_HEADER.size)
_CHUNK = 500
SPREAD = 8
"""A key of `term_counts` is the term's hash times this, plus the number of the field."""
_MAX_TF = 65_535
_MAX_BUFFERED = 500_000  # changes of counts that are buffered before those of the same term are added up


@dataclass(frozen=True, slots=True, kw_only=True)
class TermStatistics:
    """Document and collection frequencies of some terms over all pages, by field."""

    pages: int
    lengths: tuple[int, ...]
    df: Counts
    cf: Counts

    def mean_length(self, field: int) -> float:
        """The mean length of a field, at least 1."""
        return max(1.0, self.lengths[field] / self.pages) if self.pages else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TermVectors:
    """The vectors of some pages side by side: one entry per page, field and term, page by page, field by field.

    `segment` says where an entry belongs: it is the place of the page times the number of fields, plus that of the
    field. `lengths` and `distinct` are pages by fields.
    """

    pages: tuple[int, ...]
    term: Hashes
    tf: npt.NDArray[np.uint16]
    segment: npt.NDArray[np.int32]
    lengths: Counts
    distinct: Counts

    def entries_of(self, field: int) -> npt.NDArray[np.int64]:
        """The places of the entries of one field, without visiting the others."""
        sizes = self.distinct.astype(np.int64)
        counts = sizes[:, field]
        starts = (np.cumsum(sizes.ravel()) - sizes.ravel()).reshape(sizes.shape)[:, field]
        # Within a page the entries follow each other; from page to page they jump.
        jumps: npt.NDArray[np.int64] = np.repeat(starts - (np.cumsum(counts) - counts), counts)
        return jumps + np.arange(len(jumps))


def term_hash(term: str) -> int:
    """The hash of a term."""
    return crc32(term.encode("utf-8", "replace"))


def hashes(terms: Iterable[str]) -> Hashes:
    """The hashes of terms, in their order."""
    return np.array([crc32(term.encode("utf-8", "replace")) for term in terms], np.uint32)


class VectorStore:
    """The vectors of a collection, in its database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        with database.read() as connection:
            table = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'field_totals'").fetchone()
        if table is None:
            with database.write() as connection:
                for statement in _SCHEMA:
                    connection.execute(statement)

    def update(self, entries: Iterable[IndexEntry]) -> None:
        """Replace the vectors of pages; entries without fields are deleted."""
        self.put({entry.page: pack(entry) for entry in entries})

    def put(self, vectors: Mapping[int, bytes | None]) -> None:
        """The same with vectors as `pack` makes them, by page; None deletes a page's vector."""
        changes = CountChanges()
        with self._database.write() as connection:
            for page, older in self.packed(tuple(vectors)).items():
                changes.count(older, -1)
                if vectors[page] is None:
                    connection.execute("DELETE FROM vectors WHERE page = ?", (page,))
            put = [(page, vector) for page, vector in vectors.items() if vector is not None]
            for _, vector in put:
                changes.count(vector, 1)
            connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", put)
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

    def get(self, pages: Sequence[int]) -> TermVectors:
        """The vectors of pages, in their order; a page without one has no entries."""
        return unpack(pages, self.packed(pages))

    def missing(self, pages: Sequence[int]) -> bool:
        """Whether any of the pages has no vector."""
        return len(self.packed(pages)) < len(set(pages))

    def statistics(self, terms: Hashes, fields: Sequence[int] = tuple(range(len(FIELDS)))) -> TermStatistics:
        """Frequencies of terms by field (fields by terms), and the totals; 0 in fields not requested."""
        df = np.zeros((len(FIELDS), len(terms)), dtype=np.float32)
        cf = np.zeros((len(FIELDS), len(terms)), dtype=np.float32)
        numbers = enumerate(terms.tolist())
        places = {term * SPREAD + field: (field, at) for at, term in numbers for field in fields}
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
        page_count = max((int(pages) for pages, _ in totals.values()), default=0)
        return TermStatistics(pages=page_count, lengths=lengths, df=df, cf=cf)

    def packed(self, pages: Sequence[int]) -> dict[int, bytes]:
        """The vectors of pages as `pack` made them; pages without one are left out."""
        found: dict[int, bytes] = {}
        with self._database.read() as connection:
            for start in range(0, len(pages), _CHUNK):
                chunk = pages[start : start + _CHUNK]
                marks = ",".join("?" * len(chunk))
                found.update(
                    connection.execute(f"SELECT page, vector FROM vectors WHERE page IN ({marks})", chunk)  # noqa: S608
                )
        return found


class CountChanges:
    """Changes of the counts over all pages, buffered so that each is written once; columns are key, df and cf."""

    def __init__(self) -> None:
        self._gathered: list[Changed] = []
        self._waiting = 0
        self._totals = np.zeros((len(FIELDS), 2), dtype=np.int64)

    def count(self, blob: bytes, sign: int) -> None:
        """Add the vector of a page, or with -1 subtract it."""
        header = np.frombuffer(blob, np.uint32, 2 * len(FIELDS)).astype(np.int64)
        sizes, lengths = header[: len(FIELDS)], header[len(FIELDS) :]
        total = int(sizes.sum())
        change = np.empty((3, total), np.int64)
        change[0] = np.frombuffer(blob, np.uint32, total, _HEADER.size)
        change[0] *= SPREAD
        change[0] += np.repeat(np.arange(len(FIELDS)), sizes)
        change[1] = sign
        change[2] = np.frombuffer(blob, np.uint16, total, _HEADER.size + 4 * total)
        change[2] *= sign
        self._gathered.append(change)
        self._totals += sign * np.stack((np.ones_like(lengths), lengths), axis=1)
        self._waiting += total
        if self._waiting > _MAX_BUFFERED:
            self._gathered, self._waiting = [self._sum_changes()], 0

    def rows(self) -> list[tuple[int, int, int]]:
        """Key, df and cf, in the order of the table."""
        summed = self._sum_changes()
        changed = summed[:, (summed[1] != 0) | (summed[2] != 0)]
        return list(zip(*changed.tolist(), strict=True))

    def totals(self) -> list[tuple[int, int, int]]:
        """Field, pages and length."""
        return [(field, int(pages), int(length)) for field, (pages, length) in enumerate(self._totals)]

    def _sum_changes(self) -> Changed:
        whole = np.concatenate((np.zeros((3, 0), np.int64), *self._gathered), axis=1)
        keys, places = np.unique(whole[0], return_inverse=True)
        df, cf = (np.bincount(places, column, len(keys)).astype(np.int64) for column in whole[1:])
        return np.stack((keys, df, cf))


def unpack(pages: Sequence[int], blobs: Mapping[int, bytes]) -> TermVectors:
    """The vectors of pages side by side, from what `pack` made of each; a page without one has no entries."""
    vectors = [blobs.get(page, _NO_VECTOR) for page in pages]
    count, fields, start = len(pages), len(FIELDS), _HEADER.size
    # Bytes are joined first: an array for each page would cost more than all the copying.
    header = np.frombuffer(b"".join([blob[:start] for blob in vectors]), np.uint32)
    header = header.reshape(count, 2 * fields)
    distinct = header[:, :fields]
    ends = (start + 4 * distinct.sum(axis=1, dtype=np.int64)).tolist()
    terms = [blob[start:end] for blob, end in zip(vectors, ends, strict=True)]
    frequencies = [blob[end:] for blob, end in zip(vectors, ends, strict=True)]
    segment = np.repeat(np.arange(count * fields, dtype=np.int32), distinct.ravel())
    return TermVectors(
        pages=tuple(pages),
        term=np.frombuffer(b"".join(terms), np.uint32),
        tf=np.frombuffer(b"".join(frequencies), np.uint16),
        segment=segment,
        lengths=header[:, fields:].astype(np.float32),
        distinct=distinct.astype(np.float32),
    )


def is_packed(blob: bytes) -> bool:
    """Whether bytes from elsewhere are as long as their own head says, so that `unpack` can read them."""
    if len(blob) < _HEADER.size:
        return False
    entries = sum(_HEADER.unpack_from(blob)[: len(FIELDS)])
    return len(blob) == _HEADER.size + 6 * int(entries)


def pack(entry: IndexEntry) -> bytes | None:
    """Sizes and lengths of the fields, then the hashes field by field, then their frequencies; None for no fields."""
    if not entry.fields:
        return None
    counted = [_count_terms(entry.fields.get(name, ())) for name in FIELDS]
    sizes = [len(counts) for counts in counted]
    lengths = [sum(counts.values()) for counts in counted]
    terms = np.fromiter(chain.from_iterable(counted), np.uint32, sum(sizes))
    times = np.fromiter(chain.from_iterable(counts.values() for counts in counted), np.int64, sum(sizes))
    return (
        _HEADER.pack(*sizes, *lengths)
        + terms.tobytes()
        + np.minimum(times, _MAX_TF).astype(np.uint16).tobytes()
    )


def _count_terms(terms: Sequence[str]) -> dict[int, int]:
    times = Counter(terms)
    counts = dict(
        zip([crc32(term.encode("utf-8", "replace")) for term in times], times.values(), strict=True)
    )
    if len(counts) == len(times):
        return counts
    summed: Counter[int] = Counter()  # two terms of one page may share a hash
    for term, count in times.items():
        summed[term_hash(term)] += count
    return summed
