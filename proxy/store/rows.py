"""diskcache with what it lacks for us: ranges of keys, marking use without reading, eviction to the byte, no pickle.

Facts of diskcache 5.6 that shaped this. Under its least-recently-used policy every `get` is a write transaction,
so we read with our own query and mark use in batches. `set` culls ten rows once the volume is past the limit,
whatever their size, so culling is off and `evict` does it. Inside `transact()` the files of replaced rows are
removed before the commit, so nothing here nests transactions. With `retry=True` a full disk is retried forever.
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
"""How long one write waits for another process's."""
_PAGES_CACHED = 1024
"""Pages of 4 KB that each thread's connection may hold; diskcache's 8192 would come to 32 MB a thread."""
_LOG_TRIES, _LOG_WAIT_S = 50, 0.1
_EVICT_AT_ONCE = 200
"""Rows in one transaction, so that readers of other processes are not held up for long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRow:
    """What is written: the record, and the name and size of the file that goes with it."""

    record: bytes
    filename: str | None
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRow:
    """What is read; `rowid` and `stored_at` tell whether it is still the same row later."""

    rowid: int
    stored_at: float
    filename: str | None
    record: object


class _PlainDisk(diskcache.Disk):  # type: ignore[misc]  # diskcache has no annotations
    """Rows hold what they are given: a record beside the name of a file that is already in place."""

    def put(self, key: bytes) -> tuple[bytes, bool]:
        return key, True

    def get(self, key: Any, raw: bool) -> Any:
        return key

    def store(self, value: NewRow, read: bool, key: object = None) -> tuple[int, int, str | None, bytes]:
        return value.size, diskcache.core.MODE_RAW, value.filename, value.record

    def fetch(self, mode: int, filename: str | None, value: Any, read: bool) -> Any:
        return value

    def remove(self, file_path: str) -> None:
        # Directories stay: there are 256 of them, and removing one races with a body being put into it.
        with suppress(OSError):
            os.remove(os.path.join(self._directory, file_path))


class Rows(diskcache.Cache):  # type: ignore[misc]  # diskcache has no annotations
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
            sqlite_mmap_size=0,  # a mapped file that is cut short kills the process
            sqlite_secure_delete="fast",  # overwrites what is deleted; free pages are cut off anyway (auto_vacuum)
        )
        # Lists the files without reading the rows, which hold whole bodies.
        rows._sql("CREATE INDEX IF NOT EXISTS Cache_filename ON Cache (filename) WHERE filename IS NOT NULL")
        rows.within(b"", b"")
        rows.close()  # of this thread, which is not one of those that will use it
        return rows

    def within(self, low: bytes, high: bytes) -> list[FoundRow]:
        """The rows from `low` to `high`, newest first."""
        found = self._sql(
            "SELECT rowid, store_time, filename, CAST(value AS BLOB) FROM Cache WHERE key BETWEEN ? AND ? AND raw = 1"
            " ORDER BY store_time DESC, rowid DESC",
            (low, high),
        ).fetchall()
        return [FoundRow(rowid=a, stored_at=b, filename=c, record=d) for a, b, c, d in found]

    def keys_with(self, part: bytes) -> list[bytes]:
        """The keys in which these bytes occur; a walk through the index of all of them."""
        found = self._sql("SELECT key FROM Cache WHERE raw = 1 AND instr(key, ?)", (part,)).fetchall()
        return [bytes(key) for (key,) in found]

    def drop(self, low: bytes, high: bytes, *, keep: int = 0) -> None:
        """Deletes the rows from `low` to `high`, save `keep` of them: the newest, then those that were used.

        Those that were never used go first, so that nobody pushes out what others use by asking for a lot once.
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
        """Empties the log, which still has what was deleted; False when others read for too long."""
        for _ in range(_LOG_TRIES):
            if self._sql("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0:
                return True
            time.sleep(_LOG_WAIT_S)
        return False

    def discard(self, row: FoundRow) -> None:
        """Deletes a row unless it was replaced since; a database too busy for that keeps it for now."""
        with suppress(diskcache.Timeout, sqlite3.OperationalError), self._transact() as (sql, remove_later):
            same = (row.rowid, row.stored_at)
            if sql("DELETE FROM Cache WHERE rowid = ? AND store_time = ?", same).rowcount:
                remove_later(row.filename)

    def mark_used(self, used: Iterable[tuple[bytes, bytes, float]]) -> None:
        """Ranges of keys and when they were last used."""
        with self._transact() as (sql, _):
            for low, high, at in used:
                sql(
                    "UPDATE Cache SET access_time = max(access_time, ?) WHERE key BETWEEN ? AND ? AND raw = 1",
                    (at, low, high),
                )

    def evict(self, limit_bytes: int) -> int:
        """Deletes the least recently used rows until the volume is within the limit; how many."""
        evicted = 0
        while (excess := self.volume() - limit_bytes) > 0:
            now = self._evict_some(excess)
            if now == 0:
                break
            evicted += now
        return evicted

    def _evict_some(self, excess: int) -> int:
        """At least one row if there is any, and no more than seem needed: freed pages show only after the commit."""
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
