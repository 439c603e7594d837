"""Extends diskcache: key ranges, marking use without a read, eviction to the byte, no pickle.

Facts about diskcache 5.6 behind this: under its least-recently-used policy every `get` is a write transaction, so we
read with our own query and mark use in batches. `set` culls ten rows of any size once the volume is over the limit,
so culling is off and `evict` does it. Inside `transact()` the files of replaced rows are removed before the commit,
so nothing here nests transactions. With `retry=True` it retries forever on a full disk.
"""

import os
import sqlite3
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import diskcache

_BUSY_TIMEOUT_S = 10.0
"""How long a write waits for another process's write."""
_PAGES_CACHED = 1024
"""Pages of 4 KB in the cache of each thread's connection; diskcache's 8192 would take 32 MB per thread."""
_LOG_TRIES, _LOG_WAIT_S = 50, 0.1
_EVICT_AT_ONCE = 200
"""Rows per transaction, so that other processes do not wait for long."""

_HAS = "SELECT 1 FROM Cache WHERE key BETWEEN ? AND ? AND raw = 1 LIMIT 1"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRow:
    """A row to write: the record, and the name and size of its file."""

    record: bytes
    filename: str | None
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRow:
    """A row that was read; `rowid` and `stored_at` show later whether it is still the same."""

    rowid: int
    stored_at: float
    filename: str | None
    record: object


class _PlainDisk(diskcache.Disk):  # type: ignore[misc]  # diskcache has no annotations
    """Stores values unchanged: a record, and the name of a file that is already in place."""

    def put(self, key: bytes) -> tuple[bytes, bool]:
        return key, True

    def get(self, key: Any, raw: bool) -> Any:
        return key

    def store(self, value: NewRow, read: bool, key: object = None) -> tuple[int, int, str | None, bytes]:
        return value.size, diskcache.core.MODE_RAW, value.filename, value.record

    def fetch(self, mode: int, filename: str | None, value: Any, read: bool) -> Any:
        return value

    def remove(self, file_path: str) -> None:
        # Directories stay: there are only 256, and removing one races with a new file in it.
        with suppress(OSError):
            os.remove(os.path.join(self._directory, file_path))


class DiskRows(diskcache.Cache):  # type: ignore[misc]  # diskcache has no annotations
    """The table of one directory. Threads may share it; each has its own connection."""

    @classmethod
    def open(cls, directory: Path, *, evicts: bool) -> Self:
        """Raises sqlite3.Error or OSError."""
        rows = cls(
            str(directory),
            timeout=_BUSY_TIMEOUT_S,
            disk=_PlainDisk,
            # The policy is named for its index on access_time; its culling is switched off.
            eviction_policy="least-recently-used" if evicts else "none",
            cull_limit=0,
            sqlite_cache_size=_PAGES_CACHED,
            sqlite_mmap_size=0,  # truncating a mapped file kills the process
            sqlite_secure_delete="fast",  # overwrites what is deleted; free pages are cut off anyway (auto_vacuum)
        )
        # Lists files without reading the rows, which contain whole bodies.
        rows._sql("CREATE INDEX IF NOT EXISTS Cache_filename ON Cache (filename) WHERE filename IS NOT NULL")
        rows.within(b"", b"")
        rows.close()  # this thread's connection, which is not used again
        return rows

    def within(self, low: bytes, high: bytes) -> list[FoundRow]:
        """The rows from `low` to `high`, newest first."""
        found = self._sql(
            "SELECT rowid, store_time, filename, CAST(value AS BLOB) FROM Cache WHERE key BETWEEN ? AND ? AND raw = 1"
            " ORDER BY store_time DESC, rowid DESC",
            (low, high),
        ).fetchall()
        return [FoundRow(rowid=a, stored_at=b, filename=c, record=d) for a, b, c, d in found]

    def set_many(self, rows: Iterable[tuple[bytes, NewRow]]) -> None:
        """As `set` for each, in one transaction: most of what a small row costs is its commit."""
        now = time.time()
        with self._transact() as (sql, remove_later):
            for key, row in rows:
                size, mode, filename, value = self._disk.store(row, read=False)
                columns = (None, None, size, mode, filename, value)
                found = sql("SELECT rowid, filename FROM Cache WHERE key = ? AND raw = 1", (key,)).fetchone()
                if found is None:
                    self._row_insert(key, True, now, columns)
                else:
                    remove_later(found[1])
                    self._row_update(found[0], now, columns)

    def has_unwaiting(self, low: bytes, high: bytes) -> bool:
        """Whether there is a row from `low` to `high`; reads the index of keys only, and never waits, as below."""
        found = self.never_wait().execute(_HAS, (low, high))
        return found.fetchone() is not None

    def never_wait(self) -> sqlite3.Connection:
        """From now on, what the calling thread does fails where it would wait for another's lock."""
        connection: sqlite3.Connection = self._con
        if getattr(self._local, "never_waits", None) is not connection:
            connection.execute("PRAGMA busy_timeout = 0")
            self._local.never_waits = connection
        return connection

    def keys_with(self, part: bytes) -> list[bytes]:
        """The keys that contain these bytes; scans the index of all keys."""
        found = self._sql("SELECT key FROM Cache WHERE raw = 1 AND instr(key, ?)", (part,)).fetchall()
        return [bytes(key) for (key,) in found]

    def drop(self, low: bytes, high: bytes, *, keep: int = 0) -> None:
        """Deletes the rows from `low` to `high`, except `keep` of them: the newest, then the used ones.

        Rows that were never used go first, so that no client evicts what others use with many different requests.
        """
        query = (
            "SELECT rowid, filename FROM Cache WHERE key BETWEEN ?1 AND ?2 AND raw = 1"
            " ORDER BY rowid = (SELECT rowid FROM Cache WHERE key BETWEEN ?1 AND ?2 AND raw = 1"
            " ORDER BY store_time DESC, rowid DESC LIMIT 1) DESC,"
            " access_time > store_time DESC, access_time DESC, rowid DESC LIMIT -1 OFFSET ?3"
        )
        if not self._sql(query, (low, high, keep)).fetchall():
            return
        with self._transact() as (sql, remove_later):
            for rowid, filename in sql(query, (low, high, keep)).fetchall():
                sql("DELETE FROM Cache WHERE rowid = ?", (rowid,))
                remove_later(filename)

    def scrub(self) -> bool:
        """Empties the write-ahead log, which still has deleted rows; False when readers block it for too long."""
        for _ in range(_LOG_TRIES):
            if self._sql("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0:
                return True
            time.sleep(_LOG_WAIT_S)
        return False

    def discard(self, row: FoundRow) -> None:
        """Deletes a row unless it was replaced since; keeps it for now if the database is busy."""
        with suppress(diskcache.Timeout, sqlite3.OperationalError), self._transact() as (sql, remove_later):
            same = (row.rowid, row.stored_at)
            if sql("DELETE FROM Cache WHERE rowid = ? AND store_time = ?", same).rowcount:
                remove_later(row.filename)

    def mark_used(self, used: Iterable[tuple[bytes, bytes, float]]) -> None:
        """Sets the last use of key ranges."""
        with self._transact() as (sql, _):
            for low, high, at in used:
                sql(
                    "UPDATE Cache SET access_time = max(access_time, ?) WHERE key BETWEEN ? AND ? AND raw = 1",
                    (at, low, high),
                )

    def evict(self, limit_bytes: int) -> int:
        """Deletes the least recently used rows until the volume is within the limit; returns how many."""
        evicted = 0
        while (excess := self.volume() - limit_bytes) > 0:
            now = self._evict_some(excess)
            if now == 0:
                break
            evicted += now
        return evicted

    def _evict_some(self, excess: int) -> int:
        """Deletes at least one row if there is any, and about as many as needed: the volume shrinks at the commit."""
        evicted = 0
        with self._transact() as (sql, remove_later):
            oldest = sql(
                "SELECT rowid, filename, size + coalesce(length(value), 0) FROM Cache"
                " ORDER BY access_time, rowid LIMIT ?",
                (_EVICT_AT_ONCE,),
            ).fetchall()
            for rowid, filename, size in oldest:
                sql("DELETE FROM Cache WHERE rowid = ?", (rowid,))
                remove_later(filename)
                evicted += 1
                excess -= size
                if excess <= 0:
                    break
        return evicted

    def filenames(self) -> set[str]:
        """Every file that some row refers to."""
        return {name for (name,) in self._sql("SELECT filename FROM Cache WHERE filename IS NOT NULL")}
