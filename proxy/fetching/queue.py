"""The queue of pages to fetch, in SQLite: what is committed survives `kill -9`, and any process may add to it.

Every method blocks for a moment and may be called from any thread. Each address is in it once. Finished entries
stay for a while, so that the admin sees the results, and are deleted when the queue is full.
"""

import json
import logging
import re
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

from proxy.errors import StoreError
from proxy.fetching.entries import FetchEntry, FetchState, FetchTime, NotQueuedError
from repair.secrets.addresses import has_secret
from repair.sqlite import SqliteFile, transaction
from repair.text import urls

log = logging.getLogger(__name__)

# A host with a dot, perhaps a port, then the end or a path.
_BARE_ADDRESS = re.compile(r"(?:[\w-]{1,63}\.){1,20}[^\W\d][\w-]{1,62}(?::\d{1,5})?(?:[/?#]|$)")
_SCHEMA = """
CREATE TABLE IF NOT EXISTS fetches (
    id INTEGER PRIMARY KEY AUTOINCREMENT, url TEXT NOT NULL UNIQUE, host TEXT NOT NULL, urgency INTEGER NOT NULL,
    why TEXT NOT NULL, state TEXT NOT NULL, tries INTEGER NOT NULL, next_try REAL NOT NULL, error TEXT NOT NULL,
    received INTEGER NOT NULL, expected INTEGER NOT NULL, added_at REAL NOT NULL, changed_at REAL NOT NULL
);
CREATE INDEX IF NOT EXISTS fetches_due ON fetches (state, urgency, next_try, id);
CREATE INDEX IF NOT EXISTS fetches_age ON fetches (state, changed_at);
"""
_SELECT = (
    "SELECT id, url, urgency, why, state, tries, next_try, error, received, expected, added_at, changed_at"
    " FROM fetches "
)
_URGENCY = tuple(FetchTime)
_MAX_WHY = 200
_MAX_ERROR = 300

Row = tuple[int, str, int, str, str, int, float, str, int, int, float, float]


class FetchQueue:
    """The queue in a file. Raises StoreError when the disk fails."""

    def __init__(
        self, path: Path, *, max_entries: int = 10_000, clock: Callable[[], float] = time.time
    ) -> None:
        self._path = path
        self._max_entries = max_entries
        self._clock = clock
        self._lock = threading.Lock()
        try:
            self._database = SqliteFile(path=path, schema=_SCHEMA).open_or_replace(check=True)
        except (OSError, sqlite3.Error) as error:
            raise StoreError(f"{path}: cannot open the fetch queue: {error}") from error

    def add(self, url: str, *, when: FetchTime | str = FetchTime.LINE, why: str = "") -> FetchEntry:
        """Queue a page, again if it was fetched, failed or refused before; the more urgent request counts.

        Raises NotQueuedError.
        """
        normal = queueable_url(url)
        now = self._clock()
        urgency = _URGENCY.index(FetchTime(when))
        with self._write() as database:
            self._make_room(database, normal)
            database.execute(
                "INSERT INTO fetches (url, host, urgency, why, state, tries, next_try, error, received, expected,"
                " added_at, changed_at) VALUES (?1, ?2, ?3, ?4, 'waiting', 0, ?5, '', 0, 0, ?5, ?5)"
                " ON CONFLICT (url) DO UPDATE SET urgency = min(urgency, excluded.urgency), why = excluded.why,"
                " next_try = min(next_try, excluded.next_try) WHERE state = 'waiting'",
                (normal, _host(normal), urgency, why[:_MAX_WHY], now),
            )
            database.execute(
                "UPDATE fetches SET urgency = ?2, why = ?3, state = 'waiting', tries = 0, next_try = ?4, error = '',"
                " received = 0, expected = 0, added_at = ?4, changed_at = ?4"
                " WHERE url = ?1 AND state IN ('done', 'failed', 'refused')",
                (normal, urgency, why[:_MAX_WHY], now),
            )
            return _entry(database.execute(_SELECT + "WHERE url = ?", (normal,)).fetchone())

    def get(self, number: int) -> FetchEntry | None:
        """An entry by its number."""
        with self._read() as database:
            row = database.execute(_SELECT + "WHERE id = ?", (number,)).fetchone()
        return _entry(row) if row else None

    def find(self, url: str) -> FetchEntry | None:
        """The entry of an address; None when it is not in the queue."""
        with self._read() as database:
            row = database.execute(_SELECT + "WHERE url = ?", (url,)).fetchone()
        return _entry(row) if row else None

    def list(
        self, limit: int = 100, *, offset: int = 0, state: FetchState | str | None = None
    ) -> tuple[FetchEntry, ...]:
        """Entries: those in progress, those waiting in order, then the finished ones, the latest first."""
        with self._read() as database:
            rows = database.execute(
                _SELECT + "WHERE ?1 IS NULL OR state = ?1"
                " ORDER BY CASE state WHEN 'fetching' THEN 0 WHEN 'waiting' THEN 1 ELSE 2 END,"
                " CASE state WHEN 'waiting' THEN urgency END, CASE state WHEN 'waiting' THEN next_try END,"
                " changed_at DESC, id LIMIT ?2 OFFSET ?3",
                (FetchState(state) if state else None, limit, offset),
            ).fetchall()
        return tuple(map(_entry, rows))

    def counts(self) -> dict[FetchState, int]:
        """The number of entries in each state."""
        with self._read() as database:
            found = dict(database.execute("SELECT state, count(*) FROM fetches GROUP BY state").fetchall())
        return {state: int(found.get(state, 0)) for state in FetchState}

    def retry(self, number: int, *, when: FetchTime | str = FetchTime.NOW) -> FetchEntry | None:
        """Queue a page again that is not in progress; None when there is no such entry."""
        entry = self.get(number)
        if entry is None:
            return None
        return (
            self.add(entry.url, when=when, why=entry.why) if entry.state is not FetchState.FETCHING else entry
        )

    def remove(self, number: int) -> bool:
        """Delete an entry, whatever its state; whether there was one."""
        with self._write() as database:
            return database.execute("DELETE FROM fetches WHERE id = ?", (number,)).rowcount > 0

    def forget(self, url: str) -> bool:
        """Delete an address for good; whether it was there."""
        with self._write() as database:
            forgotten = database.execute("DELETE FROM fetches WHERE url = ?", (url,)).rowcount > 0
        with self._read() as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # or it would linger in the write-ahead log
        return forgotten

    def claim(self, whens: Collection[FetchTime], *, busy_hosts: Collection[str] = ()) -> FetchEntry | None:
        """Start the most urgent entry that is due, and count a try; None when there is none."""
        now = self._clock()
        wished = json.dumps([_URGENCY.index(when) for when in whens])
        with self._write() as database:
            row = database.execute(
                "SELECT id FROM fetches WHERE state = 'waiting' AND next_try <= ?"
                " AND urgency IN (SELECT value FROM json_each(?)) AND host NOT IN (SELECT value FROM json_each(?))"
                " ORDER BY urgency, next_try, id LIMIT 1",
                (now, wished, json.dumps(list(busy_hosts))),
            ).fetchone()
            if row is None:
                return None
            database.execute(
                "UPDATE fetches SET state = 'fetching', tries = tries + 1, received = 0, expected = 0,"
                " changed_at = ? WHERE id = ?",
                (now, row[0]),
            )
            return _entry(database.execute(_SELECT + "WHERE id = ?", row).fetchone())

    def progress(self, number: int, received: int, expected: int) -> None:
        """Record how much of a page has arrived."""
        with self._write() as database:
            database.execute(
                "UPDATE fetches SET received = ?, expected = ? WHERE id = ? AND state = 'fetching'",
                (received, expected, number),
            )

    def finish(self, number: int, state: FetchState, *, error: str = "", received: int = 0) -> None:
        """Record the final state of an entry: done, failed or refused."""
        with self._write() as database:
            database.execute(
                "UPDATE fetches SET state = ?, error = ?, received = ?, expected = ?, changed_at = ? WHERE id = ?",
                (state, error[:_MAX_ERROR], received, received, self._clock(), number),
            )

    def postpone(self, number: int, *, until: float, error: str, counted: bool = True) -> None:
        """Try again later; a try that is not `counted` is taken back."""
        with self._write() as database:
            database.execute(
                "UPDATE fetches SET state = 'waiting', next_try = ?, error = ?, tries = max(0, tries - ?),"
                " received = 0, expected = 0, changed_at = ? WHERE id = ?",
                (until, error[:_MAX_ERROR], 0 if counted else 1, self._clock(), number),
            )

    def recover(self, *, max_tries: int) -> int:
        """Requeue what was in progress when its process died; returns the number. Only for the process that holds
        the lock.

        A page that killed the process `max_tries` times is not tried again.
        """
        with self._write() as database:
            database.execute(
                "UPDATE fetches SET state = 'failed', error = 'never came to an end' WHERE state = 'fetching'"
                " AND tries >= ?",
                (max_tries,),
            )
            return database.execute("UPDATE fetches SET state = 'waiting' WHERE state = 'fetching'").rowcount

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._database.close()

    def _make_room(self, database: sqlite3.Connection, url: str) -> None:
        """The oldest finished entries go first; waiting ones are never dropped."""
        beyond = database.execute(
            "SELECT count(*) - ? + 1 FROM fetches WHERE url != ?", (self._max_entries, url)
        ).fetchone()[0]
        if beyond <= 0:
            return
        dropped = database.execute(
            "DELETE FROM fetches WHERE id IN (SELECT id FROM fetches WHERE state IN ('done', 'failed', 'refused')"
            " AND url != ? ORDER BY changed_at LIMIT ?)",
            (url, beyond),
        ).rowcount
        if dropped < beyond:
            raise NotQueuedError(f"the fetch queue is full ({self._max_entries} pages)")

    @contextmanager
    def _read(self) -> Iterator[sqlite3.Connection]:
        try:
            with self._lock:
                yield self._database
        except sqlite3.Error as error:
            raise StoreError(f"{self._path}: {error}") from error

    @contextmanager
    def _write(self) -> Iterator[sqlite3.Connection]:
        with self._read() as database, transaction(database):
            yield database


def queueable_url(url: str) -> str:
    """The normalised address of a page to queue; one without a scheme, as people write it, is taken for https.

    Raises NotQueuedError for one that may not be fetched.
    """
    if _BARE_ADDRESS.match(url.strip()):
        url = f"https://{url.strip()}"
    if has_secret(url):
        raise NotQueuedError(f"personal address (contains a name, a session or a token): {url[:100]!r}")
    try:
        return urls.normal(url)
    except ValueError:
        raise NotQueuedError(f"not a web address: {url[:100]!r}") from None


def _host(url: str) -> str:
    return urlsplit(url).netloc


def _entry(row: Row) -> FetchEntry:
    number, url, urgency, why, state, tries, next_try, error, received, expected, added_at, changed_at = row
    return FetchEntry(
        id=number,
        url=url,
        when=_URGENCY[urgency],
        why=why,
        state=FetchState(state),
        tries=tries,
        next_try_at=_moment(next_try),
        error=error,
        received_bytes=received,
        expected_bytes=expected,
        added_at=_moment(added_at),
        changed_at=_moment(changed_at),
    )


def _moment(timestamp: float) -> datetime:
    return datetime.fromtimestamp(timestamp, UTC)
