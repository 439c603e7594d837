"""The store of miss records: what broke, what was offered, what was opened.

Records go to SQLite (to be asked) and to misses.jsonl (to be read by other programs). One thread of our own writes
both, from a bounded queue, so that no reader of a page ever waits for a disk. What is committed survives `kill -9`;
what does not fit in the queue is counted and let go.
"""

import json
import logging
import os
import queue
import sqlite3
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

from proxy.errors import StoreError
from proxy.misses.erasure import Erasure, erase
from proxy.misses.lines import Line, MissLines
from proxy.misses.record import COLUMNS, MissRecord, event_of, iso, new_miss_id, record_of, without_secrets
from proxy.misses.tallies import catch_up, prepare
from proxy.settings import MissesSettings
from repair.files import is_damage, set_aside
from repair.model import MissKind

__all__ = ["MissRecord", "MissStore", "new_miss_id"]

log = logging.getLogger(__name__)

_SCHEMA = """
CREATE TABLE IF NOT EXISTS misses (
    id TEXT PRIMARY KEY, at REAL NOT NULL, url TEXT NOT NULL, site TEXT NOT NULL, kind TEXT NOT NULL,
    source_url TEXT, rule TEXT NOT NULL, client TEXT NOT NULL, offered TEXT NOT NULL, chosen TEXT,
    status INTEGER NOT NULL, latency_ms REAL NOT NULL, query TEXT NOT NULL, language TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS misses_at ON misses (at);
CREATE INDEX IF NOT EXISTS misses_site ON misses (site, at);
"""
_TOP_COLUMNS = {"url": "url", "site": "site", "kind": "kind", "source": "source_url"}
_BATCH = 500
_LOOK_AT_CLOCK_S = 900.0
_BETWEEN_STEPS_S = 0.02  # for those who read
_TELL_EVERY = 50_000
_PURGE_EVERY = timedelta(days=1)
_MAX_TOLD = 20_000
_TRIES, _BETWEEN_TRIES_S = 50, 0.1
_LOOK_EVERY = 10_000  # steps of SQLite's machine, about a millisecond

_READ = timedelta(seconds=10)  # who opens another sooner opens several at once
_COMES_BACK = timedelta(minutes=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferClick:
    """A click on a page that was offered for a missing `url`; `network` is the code of the network it came from.

    `unfit` is what the user had opened before and came back from, None when that is nothing.
    """

    url: str
    chosen: str
    network: str
    at: datetime
    unfit: str | None = None


OnChoice = Callable[[OfferClick], None]
"""Who is told of a click as it is written. It neither waits nor raises.

It hears of the same choice of the same client once: whoever goes to and fro does not count as many users.
"""
_Write = Callable[[sqlite3.Connection], Line | None]
_Job = tuple[_Write, Future[None]]


class MissStore:
    """The store in a directory. `record` and `chosen` never wait; the rest reads the disk: call it in a thread."""

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
        """`on_record` hears of every miss as it is noted, in the caller's thread; it neither waits nor raises."""
        self._path = directory / "misses.sqlite"
        self._lines = MissLines(directory / "misses.jsonl", max_bytes=settings.log_bytes)
        self._retention = timedelta(days=settings.retention_days)
        self._clock = clock or (lambda: datetime.now(UTC))
        self._on_choice = on_choice
        self._on_record = on_record
        # By clients' codes, which change every day: on another day it is another choice.
        self._told: OrderedDict[tuple[str, str, str], datetime] = OrderedDict()
        self._queue: queue.Queue[_Job | None] = queue.Queue(queue_length)
        self._next_purge = self._clock()
        self._closed = False
        self._counted = 0
        self.lost = 0
        try:
            directory.mkdir(parents=True, exist_ok=True)
            self._begin()
        except (OSError, sqlite3.Error) as error:
            raise StoreError(f"{self._path}: the miss log cannot be opened: {error}") from error
        self._writer = threading.Thread(target=self._write_all, name="misses", daemon=True)
        self._writer.start()

    def _begin(self) -> None:
        """Open the database; a damaged one is set aside, since a school must not lose the web with its miss log."""
        try:
            self._database = self._opened()
            self._purge()
        except sqlite3.Error as error:
            if not is_damage(error):
                raise
            aside = set_aside(self._path)
            log.error(
                "the miss log was damaged (%s); it lies in %s now, and an empty one is begun", error, aside
            )
            self._database = self._opened()

    def _opened(self) -> sqlite3.Connection:
        os.close(os.open(self._path, os.O_WRONLY | os.O_CREAT, 0o600))
        database = sqlite3.connect(self._path, timeout=10, check_same_thread=False)
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("PRAGMA synchronous=NORMAL")
        database.execute("PRAGMA secure_delete=ON")
        database.executescript(_SCHEMA)
        self._behind = not prepare(database)
        if self._behind:
            log.warning(
                "the miss log is of an earlier version: it is counted anew, lists are short until then"
            )
        return database

    def record(self, record: MissRecord) -> None:
        """Note a miss; when too many wait to be written it is lost, counted in `lost`."""
        record = without_secrets(record)
        self._on_record(record)
        self._enqueue(lambda database: _insert(database, record))

    def chosen(self, miss_id: str, number: int, *, client: str, network: str) -> None:
        """Note a click on what was offered: 0 the copy, n the nth alternative. `client` and `network` are hashes.

        Only the client that missed the page can choose. Telling it twice changes nothing; the last choice counts;
        what was never offered is ignored.
        """
        at = self._clock()

        def choose(database: sqlite3.Connection) -> Line | None:
            told = _choose(database, miss_id, number, client)
            if told is None:
                return None
            missed, url, before = told
            unfit = before if self._came_back((client, missed, before or ""), at) else None
            if self._is_news((client, missed, url), at) and self._on_choice is not None:
                self._on_choice(OfferClick(url=missed, chosen=url, network=network, at=at, unfit=unfit))
            return {"event": "chosen", "id": miss_id, "at": iso(at), "url": url}

        self._enqueue(choose)

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
        self, limit: int = 20, *, by: Literal["url", "site", "kind", "source"] = "url"
    ) -> tuple[tuple[str, int], ...]:
        """What was missed most often, and how often."""
        column = _TOP_COLUMNS[by]
        rows = self.read(
            f"SELECT {column} AS what, COUNT(*) AS times FROM misses WHERE {column} IS NOT NULL"  # noqa: S608
            " GROUP BY what ORDER BY times DESC, what LIMIT ?",
            (limit,),
        )
        return tuple((str(row["what"]), int(row["times"])) for row in rows)

    def count(self) -> int:
        return int(self.read("SELECT COUNT(*) AS times FROM misses", ())[0]["times"])

    def erase(self, *, client: str | None = None, url: str | None = None) -> int:
        """Forget all misses of a client (its hash) or of a URL, in the database and the lines; how many they were.

        A URL goes in every way to write it, and also where other misses mention it.
        """
        done: list[Erasure] = []
        self.write(lambda database: done.append(erase(database, client=client, url=url)))
        for erasure in done:
            self._lines.change(erasure.of_line)
        self._empty_write_ahead_log()
        return sum(len(erasure.ids) for erasure in done)

    def _empty_write_ahead_log(self) -> None:
        """What was erased would linger there; somebody who reads at this moment may be in the way of it."""
        for _ in range(_TRIES):
            if not self.read("PRAGMA wal_checkpoint(TRUNCATE)", ())[0]["busy"]:
                return
            time.sleep(_BETWEEN_TRIES_S)
        log.warning("%s: what was erased may linger in the write-ahead log for a while", self._path)

    def write(self, change: Callable[[sqlite3.Connection], None]) -> None:
        """Have a change made by the thread that writes, and wait until it is on disk. Raises StoreError."""
        self._enqueue(change, wait=True)

    @property
    def waiting(self) -> int:
        """How many entries wait to be written."""
        return self._queue.qsize()

    def flush(self) -> None:
        """Return once all that was noted so far is on disk."""
        self._enqueue(lambda database: None, wait=True)

    def close(self) -> None:
        """Write what waits, then stop."""
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

    def _came_back(self, choice: tuple[str, str, str], at: datetime) -> bool:
        """Whether a reader looked at what they chose before they choose again: it was not what they wanted."""
        earlier = self._told.get(choice)
        return earlier is not None and _READ <= at - earlier <= _COMES_BACK

    def _is_news(self, choice: tuple[str, str, str], at: datetime) -> bool:
        known = choice in self._told
        self._told[choice] = at
        self._told.move_to_end(choice)
        if len(self._told) > _MAX_TOLD:
            self._told.popitem(last=False)
        return not known

    def _write_all(self) -> None:
        while True:
            batch, stop = self._next_batch()
            self._write(batch)
            if stop:
                return
            if self._behind:
                self._catch_up()

    def _catch_up(self) -> None:
        """Count some more of an earlier version's log; what waits to be written goes before."""
        try:
            counted = catch_up(self._database)
        except (OSError, sqlite3.Error) as error:
            self._behind = False
            log.error("%s: counting stops until the next start: %s", self._path, error)
            return
        self._behind = counted is not None
        before, self._counted = self._counted, self._counted + (counted or 0)
        if not self._behind:
            log.warning("the miss log is counted: %d records", self._counted)
        elif before // _TELL_EVERY != self._counted // _TELL_EVERY:
            log.info("the miss log is being counted: %d records so far", self._counted)

    def _next_batch(self) -> tuple[list[_Job], bool]:
        """All that waits, up to a limit; empty when it is only time to look at the clock; True when closing."""
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
        except (OSError, sqlite3.Error, ValueError, OverflowError) as error:
            self.lost += len(batch)
            failed = StoreError(f"{self._path}: {len(batch)} entries were lost: {error}")
            log.warning("%s", failed)
        for _, done in batch:
            if failed is None:
                done.set_result(None)
            else:
                done.set_exception(failed)

    def _purge(self) -> None:
        """Drop what is older than the retention allows."""
        now = self._clock()
        self._next_purge = now + _PURGE_EVERY
        oldest = now - self._retention
        with self._database:
            dropped = self._database.execute(
                "DELETE FROM misses WHERE at < ?", (oldest.timestamp(),)
            ).rowcount
            self._database.execute(
                "DELETE FROM marks WHERE at < ? AND url NOT IN (SELECT url FROM addresses)",
                (oldest.timestamp(),),
            )
        if dropped:
            self._lines.keep(lambda event: str(event.get("at", "")) >= iso(oldest))

    def read(self, query: str, values: Sequence[object], *, within_s: float = 0.0) -> list[sqlite3.Row]:
        """The rows of a query; StoreError when it takes longer than `within_s` (0: however long)."""
        with closing(self._connect(within_s)) as database:
            try:
                return database.execute(query, values).fetchall()
            except sqlite3.OperationalError as error:
                raise StoreError(f"{self._path}: {error}") from error

    def rows(self, query: str, values: Sequence[object]) -> Iterator[sqlite3.Row]:
        """The rows of a query one after the other, however many."""
        with closing(self._connect()) as database:
            yield from database.execute(query, values)

    def _connect(self, within_s: float = 0.0) -> sqlite3.Connection:
        database = sqlite3.connect(self._path, timeout=10, check_same_thread=False)
        database.row_factory = sqlite3.Row
        if within_s:
            end = time.monotonic() + within_s
            database.set_progress_handler(lambda: time.monotonic() > end, _LOOK_EVERY)
        return database


def _insert(database: sqlite3.Connection, record: MissRecord) -> Line:
    event = event_of(record)
    values = {**event, "at": record.at.timestamp(), "offered": json.dumps(event["offered"])}
    slots = ", ".join(f":{name}" for name in COLUMNS)
    # Not OR IGNORE, which would hold for what the triggers do as well.
    database.execute(
        f"INSERT INTO misses ({', '.join(COLUMNS)}) VALUES ({slots}) ON CONFLICT DO NOTHING",  # noqa: S608
        values,
    )
    return {"event": "miss", **event}


def _choose(
    database: sqlite3.Connection, miss_id: str, number: int, client: str
) -> tuple[str, str, str | None] | None:
    """Write down what was clicked on; the missing URL, that one and what was chosen before, None when there is
    nothing new to it or the miss is another client's."""
    row = database.execute(
        "SELECT url, offered, chosen, client FROM misses WHERE id = ?", (miss_id,)
    ).fetchone()
    if row is None or not client or row[3] != client:
        return None
    offered = [row[0], *json.loads(row[1])]
    url = offered[number] if 0 <= number < len(offered) else None
    if not url or url == row[2]:
        return None
    database.execute("UPDATE misses SET chosen = ? WHERE id = ?", (url, miss_id))
    return str(row[0]), str(url), row[2]
