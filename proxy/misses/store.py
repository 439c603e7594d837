"""The miss log: which pages were missed, what was offered, what the user opened.

Records go to SQLite (for queries) and to misses.jsonl (for other programs). One thread writes both from a bounded
queue, so that no request waits for the disk. Committed records survive `kill -9`; records that do not fit in the
queue are counted and dropped. Each network has a daily share, so that no client fills the log or the disk with misses
of its own, and the oldest records are dropped when the log is full.
"""

import json
import logging
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Collection as Container
from concurrent.futures import Future
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

from proxy.errors import StoreError
from proxy.misses.clicks import OfferClick, OnChoice, RecentClicks, add_offers, write_choice
from proxy.misses.erasure import Erasure, erase
from proxy.misses.jsonlog import Line, MissJsonLog
from proxy.misses.limits import (
    DAILY_SHARES,
    DATABASE_BYTES,
    LEAST_BYTES,
    drop_older,
    drop_oldest,
    size_of,
    sizes_since,
)
from proxy.misses.record import COLUMNS, MissRecord, event_of, iso, new_miss_id, record_of, without_secrets
from proxy.misses.tallies import catch_up, prepare
from proxy.privacy.fairness import DailyShare
from proxy.settings import MissesSettings
from repair.files import is_damage
from repair.logs import RateLimitedLogger
from repair.model import MissKind
from repair.sqlite import SqliteFile

__all__ = ["MissRecord", "MissStore", "new_miss_id"]

DATABASE = "misses.sqlite"
"""Its file, in the folder of misses."""

log = logging.getLogger(__name__)

_SCHEMA = """
CREATE TABLE IF NOT EXISTS misses (
    id TEXT PRIMARY KEY, at REAL NOT NULL, url TEXT NOT NULL, site TEXT NOT NULL, kind TEXT NOT NULL,
    source_url TEXT, rule TEXT NOT NULL, client TEXT NOT NULL, offered TEXT NOT NULL, chosen TEXT,
    status INTEGER NOT NULL, latency_ms REAL NOT NULL, query TEXT NOT NULL, language TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS misses_at ON misses (at);
CREATE INDEX IF NOT EXISTS misses_site ON misses (site, at);
CREATE TABLE IF NOT EXISTS searches (at REAL NOT NULL, words TEXT NOT NULL, client TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS searches_words ON searches (words, at);
CREATE INDEX IF NOT EXISTS searches_at ON searches (at);
CREATE TABLE IF NOT EXISTS dead_media (
    url TEXT NOT NULL, page TEXT NOT NULL, medium TEXT NOT NULL, times INTEGER NOT NULL, last_at REAL NOT NULL,
    PRIMARY KEY (url, page)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS dead_media_at ON dead_media (last_at);
"""
_TOP_COLUMNS = {"url": "url", "site": "site", "kind": "kind", "source": "source_url"}
_BATCH = 500
_LOOK_AT_CLOCK_S = 900.0
_BETWEEN_STEPS_S = 0.02  # lets readers in
_TELL_EVERY = 50_000
_PURGE_EVERY = timedelta(days=1)
_MAX_SEARCH = 200
_TRIES, _BETWEEN_TRIES_S = 50, 0.1
_LOOK_EVERY = 10_000  # steps of SQLite's machine, about a millisecond

_DEAD = (MissKind.NOT_FOUND, MissKind.GONE, MissKind.SOFT_404, MissKind.PARKED)
_DEAD_FOR = timedelta(days=30)
_MAX_ASKED = 900  # bound variables in one statement

_Write = Callable[[sqlite3.Connection], Line | None]
_Job = tuple[_Write, Future[None]]


class MissStore:
    """The miss log in a directory. `record` and `chosen` never wait; the rest reads the disk: call it in a thread."""

    def __init__(
        self,
        directory: Path,
        settings: MissesSettings,
        *,
        queue_length: int = 10_000,
        clock: Callable[[], datetime] | None = None,
        on_choice: OnChoice | None = None,
        on_record: Callable[[MissRecord], None] = lambda record: None,
    ) -> None:
        """`on_record` is called with every miss in the caller's thread; it must neither wait nor raise."""
        self._path = directory / DATABASE
        self._file = SqliteFile(path=self._path, schema=_SCHEMA, isolation_level="DEFERRED")
        self._lines = MissJsonLog(directory / "misses.jsonl", max_bytes=settings.log_bytes)
        self._retention = timedelta(days=settings.retention_days)
        self._clock = clock or (lambda: datetime.now(UTC))
        self._on_choice = on_choice
        self._on_record = on_record
        self._clicks = RecentClicks()
        self._queue: queue.Queue[_Job | None] = queue.Queue(queue_length)
        self._next_purge = self._clock()
        self._closed = False
        self._counted = 0
        daily_bytes = settings.log_bytes // DAILY_SHARES
        self._shares = DailyShare(daily_bytes, clock=self._clock)
        self._most_bytes = settings.log_bytes * DATABASE_BYTES
        self._limit_log = RateLimitedLogger(log)
        self.lost = 0
        try:
            self._begin()
        except (OSError, sqlite3.Error) as error:
            raise StoreError(f"{self._path}: cannot open the dead link log: {error}") from error
        for client, size in sizes_since(self._database, self._clock()):
            self._shares.take(client, min(size, daily_bytes))
        self._writer = threading.Thread(target=self._write_all, name="misses", daemon=True)
        self._writer.start()

    def _begin(self) -> None:
        """Open the database; set a damaged one aside, since a damaged log must not stop the proxy."""
        try:
            self._database = self._prepare(self._file.open())
            self._purge()
        except sqlite3.Error as error:
            if not is_damage(error):
                raise
            self._database = self._prepare(self._file.replace(error))

    def _prepare(self, database: sqlite3.Connection) -> sqlite3.Connection:
        self._behind = not prepare(database)
        if self._behind:
            log.warning("dead link log has an older format: recounting; lists are incomplete until done")
        return database

    def record(self, record: MissRecord) -> None:
        """Note a miss; if the queue is full it is dropped and counted in `lost`."""
        record = without_secrets(record)
        self._on_record(record)
        self._enqueue(lambda database: self._insert(database, record))

    def add_offers(self, miss_id: str, client: str, first: int, urls: tuple[str, ...]) -> None:
        """Note pages that were offered after the page for a miss had been sent, from the number `first` on."""
        at = self._clock()

        def add(database: sqlite3.Connection) -> Line | None:
            line = {"event": "offered_later", "id": miss_id, "at": iso(at), "offered": list(urls)}
            return (
                line if self._has_share(client, line) and add_offers(database, miss_id, first, urls) else None
            )

        self._enqueue(add)

    def record_choice(self, miss_id: str, number: int, *, client: str, network: str) -> None:
        """Note a click on an offer: 0 is the saved copy, n the nth alternative. `client` and `network` are hashes.

        Only the client that missed the page can choose. A repeated choice changes nothing; the last choice counts; a
        number that was never offered is ignored.
        """
        at = self._clock()

        def choose(database: sqlite3.Connection) -> Line | None:
            choice = write_choice(database, miss_id, number, client)
            if choice is None:
                return None
            line = {"event": "chosen", "id": miss_id, "at": iso(at), "url": choice[1]}
            if not self._has_share(client, line):
                return None
            missed, url, before = choice
            unfit = before if self._clicks.came_back((client, missed, before or ""), at) else None
            if self._clicks.add((client, missed, url), at) and self._on_choice is not None:
                self._on_choice(OfferClick(url=missed, chosen=url, network=network, at=at, unfit=unfit))
            return line

        self._enqueue(choose)

    def record_search(self, words: str, *, client: str) -> None:
        """Note words that were searched for and not found. `client` is a hash."""
        at = self._clock().timestamp()

        def insert(database: sqlite3.Connection) -> None:
            if self._has_share(client, {"words": words}):
                database.execute("INSERT INTO searches VALUES (?, ?, ?)", (at, words[:_MAX_SEARCH], client))

        self._enqueue(insert)

    def record_dead_medium(self, url: str, page: str, medium: str, *, client: str) -> None:
        """Note a picture or the like that is gone, and the page that shows it (`proxy.misses.deadmedia`).

        `client`, a hash, is not written down: it only counts against its network's share.
        """
        at = self._clock()
        line = {"event": "dead_medium", "at": iso(at), "url": url, "source_url": page, "medium": medium}

        def insert(database: sqlite3.Connection) -> Line | None:
            if not self._has_share(client, line):
                return None
            known = database.execute(
                "UPDATE dead_media SET times = times + 1, last_at = ? WHERE url = ? AND page = ?",
                (at.timestamp(), url, page),
            )
            if known.rowcount:
                return None
            database.execute(
                "INSERT INTO dead_media VALUES (?, ?, ?, 1, ?)", (url, page, medium, at.timestamp())
            )
            return line

        self._enqueue(insert)

    def _insert(self, database: sqlite3.Connection, record: MissRecord) -> Line | None:
        event = event_of(record)
        line = {"event": "miss", **event}
        if not self._has_share(record.client, line):
            return None
        values = {**event, "at": record.at.timestamp(), "offered": json.dumps(event["offered"])}
        slots = ", ".join(f":{name}" for name in COLUMNS)
        # Not OR IGNORE, which would also apply to the triggers.
        database.execute(
            f"INSERT INTO misses ({', '.join(COLUMNS)}) VALUES ({slots}) ON CONFLICT DO NOTHING",  # noqa: S608
            values,
        )
        return line

    def _has_share(self, client: str, line: Line) -> bool:
        """Whether the client's network may write another line today."""
        if self._shares.take(client, max(len(json.dumps(line)), LEAST_BYTES)):
            return True
        self.lost += 1
        self._limit_log.warning("a network has missed so many pages today that no more of them are noted")
        return False

    def find(self, miss_id: str, *, client: str) -> MissRecord | None:
        """A miss of this client (its hash); None when there is none, or it is another's."""
        rows = self.read(
            "SELECT * FROM misses WHERE id = ? AND client = ? AND client <> ''", (miss_id, client)
        )
        return next((record_of(row) for row in rows), None)

    def recent(
        self,
        limit: int = 50,
        *,
        since: datetime | None = None,
        kind: MissKind | None = None,
        site: str | None = None,
    ) -> tuple[MissRecord, ...]:
        """The newest first."""
        rows = self.read(
            "SELECT * FROM misses WHERE at >= ? AND (? IS NULL OR kind = ?) AND (? IS NULL OR site = ?)"
            " ORDER BY at DESC LIMIT ?",
            (since.timestamp() if since else 0.0, kind, kind, site, site, limit),
        )
        return tuple(record_of(row) for row in rows)

    def top(
        self,
        limit: int = 20,
        *,
        by: Literal["url", "site", "kind", "source"] = "url",
        since: datetime | None = None,
    ) -> tuple[tuple[str, int], ...]:
        """The most missed values, each with its count, of all time or from a moment on."""
        column = _TOP_COLUMNS[by]
        rows = self.read(
            f"SELECT {column} AS what, COUNT(*) AS times FROM misses WHERE {column} IS NOT NULL"  # noqa: S608
            " AND at >= ? GROUP BY what ORDER BY times DESC, what LIMIT ?",
            (since.timestamp() if since else 0.0, limit),
        )
        return tuple((str(row["what"]), int(row["times"])) for row in rows)

    def known_dead(self, urls: Container[str]) -> frozenset[str]:
        """Which of some addresses had no page when they were last requested, lately; not those out of order."""
        since, asked = (self._clock() - _DEAD_FOR).timestamp(), list(urls)[:_MAX_ASKED]
        marks = ",".join("?" * len(asked))
        rows = self.read(
            f"SELECT DISTINCT url FROM misses WHERE url IN ({marks}) AND at >= ? AND kind IN (?, ?, ?, ?)",  # noqa: S608
            (*asked, since, *_DEAD),
        )
        return frozenset(row["url"] for row in rows)

    def count(self) -> int:
        return int(self.read("SELECT COUNT(*) AS times FROM misses", ())[0]["times"])

    def erase(self, *, client: str | None = None, url: str | None = None) -> int:
        """Erase all misses of a client (its hash) or of a URL, in the database and the lines; returns how many.

        A URL is erased in all its spellings, and also where other misses mention it.
        """
        done: list[Erasure] = []
        self.write(lambda database: done.append(erase(database, client=client, url=url)))
        for erasure in done:
            self._lines.change(erasure.of_line)
        self._empty_write_ahead_log()
        return sum(len(erasure.ids) for erasure in done)

    def _empty_write_ahead_log(self) -> None:
        """Erased records would remain in that log. A concurrent reader may block this for a while."""
        for _ in range(_TRIES):
            if not self.read("PRAGMA wal_checkpoint(TRUNCATE)", ())[0]["busy"]:
                return
            time.sleep(_BETWEEN_TRIES_S)
        log.warning("%s: deleted entries stay in the write-ahead log for a while", self._path)

    def write(self, change: Callable[[sqlite3.Connection], None]) -> None:
        """Make a change in the writer thread, and wait until it is on disk. Raises StoreError."""
        self._enqueue(change, wait=True)

    @property
    def waiting(self) -> int:
        """How many entries wait to be written."""
        return self._queue.qsize()

    def flush(self) -> None:
        """Return once all earlier records are on disk."""
        self._enqueue(lambda database: None, wait=True)

    def close(self) -> None:
        """Write the queued records, then stop."""
        if self._closed:
            return
        self._closed = True
        self._queue.put(None)
        self._writer.join()
        self._database.close()

    def _enqueue(self, write: _Write, *, wait: bool = False) -> None:
        if self._closed:
            return
        done: Future[None] = Future()
        try:
            self._queue.put((write, done), block=wait)
        except queue.Full:
            self.lost += 1
            return
        if wait:
            done.result()

    def _write_all(self) -> None:
        while True:
            batch, stop = self._next_batch()
            self._write(batch)
            if stop:
                return
            if self._behind:
                self._catch_up()

    def _catch_up(self) -> None:
        """Count some more of an earlier version's log; queued records go first."""
        try:
            counted = catch_up(self._database)
        except (OSError, sqlite3.Error) as error:
            self._behind = False
            log.error("%s: recounting failed, next attempt at restart: %s", self._path, error)
            return
        self._behind = counted is not None
        before, self._counted = self._counted, self._counted + (counted or 0)
        if not self._behind:
            log.warning("dead link log recounted: %d records", self._counted)
        elif before // _TELL_EVERY != self._counted // _TELL_EVERY:
            log.info("dead link log: %d records recounted so far", self._counted)

    def _next_batch(self) -> tuple[list[_Job], bool]:
        """The queued jobs, up to a limit; empty after a timeout, to check the clock; True when closing."""
        batch: list[_Job] = []
        try:
            job = self._queue.get(timeout=_BETWEEN_STEPS_S if self._behind else _LOOK_AT_CLOCK_S)
            while job is not None:
                batch.append(job)
                if len(batch) == _BATCH:
                    return batch, False
                job = self._queue.get_nowait()
        except queue.Empty:
            return batch, False
        return batch, True

    def _write(self, batch: list[_Job]) -> None:
        failed: StoreError | None = None
        try:
            with self._database:
                events = [event for write, _ in batch if (event := write(self._database)) is not None]
            if events:
                self._lines.append(events)
            if self._clock() >= self._next_purge:
                self._purge()
            if size_of(self._database) > self._most_bytes:
                drop_oldest(self._database)
                self._limit_log.warning("the miss log is full: its oldest records go")
        except (OSError, sqlite3.Error, ValueError, OverflowError) as error:
            self.lost += len(batch)
            failed = StoreError(f"{self._path}: {len(batch)} log entries lost: {error}")
            log.warning("%s", failed)
        for _, done in batch:
            if failed is None:
                done.set_result(None)
            else:
                done.set_exception(failed)

    def _purge(self) -> None:
        """Drop records beyond the retention time."""
        now = self._clock()
        self._next_purge = now + _PURGE_EVERY
        oldest = now - self._retention
        if drop_older(self._database, oldest):
            self._lines.keep(lambda event: str(event.get("at", "")) >= iso(oldest))

    def read(self, query: str, values: Sequence[object], *, within_s: float = 0.0) -> list[sqlite3.Row]:
        """The rows of a query; StoreError when it takes longer than `within_s` (0: no limit)."""
        try:
            with closing(self._connect(within_s)) as database:
                return database.execute(query, values).fetchall()
        except sqlite3.OperationalError as error:
            raise StoreError(f"{self._path}: {error}") from error

    def rows(self, query: str, values: Sequence[object]) -> Iterator[sqlite3.Row]:
        """The rows of a query, one at a time."""
        with closing(self._connect()) as database:
            yield from database.execute(query, values)

    def _connect(self, within_s: float = 0.0) -> sqlite3.Connection:
        database = self._file.connect()
        database.row_factory = sqlite3.Row
        if within_s:
            end = time.monotonic() + within_s
            database.set_progress_handler(lambda: time.monotonic() > end, _LOOK_EVERY)
        return database
