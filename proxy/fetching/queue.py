"""The queue of pages to fetch, in SQLite: what is committed survives `kill -9`, and any process may add to it.

Every method blocks for a moment and may be called from any thread. Each address stands in it once. What is done stays
for a while, so that the admin sees what became of it, and makes room when the queue is full.
"""

import json
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

from proxy.errors import StoreError
from proxy.fetching.entries import FetchEntry, NotQueued, State, When
from proxy.readers.privacy import is_personal_url
from repair import urls
from repair.files import is_damage, set_aside

log = logging.getLogger(__name__)

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
_URGENCY = tuple(When)
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
            path.parent.mkdir(parents=True, exist_ok=True)
            self._database = self._begun()
        except (OSError, sqlite3.Error) as error:
            raise StoreError(f"{path}: the fetch queue cannot be opened: {error}") from error

    def add(self, url: str, *, when: When | str = When.LINE, why: str = "") -> FetchEntry:
        """Want a page, again if it was fetched, failed or refused before; the more urgent wish holds.

        Raises NotQueued.
        """
        normal = wanted(url)
        now = self._clock()
        urgency = _URGENCY.index(When(when))
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

    def list(
        self, limit: int = 100, *, offset: int = 0, state: State | str | None = None
    ) -> tuple[FetchEntry, ...]:
        """Entries: what is under way, what waits in its order, then what became of the others, the latest first."""
        with self._read() as database:
            rows = database.execute(
                _SELECT + "WHERE ?1 IS NULL OR state = ?1"
                " ORDER BY CASE state WHEN 'fetching' THEN 0 WHEN 'waiting' THEN 1 ELSE 2 END,"
                " CASE state WHEN 'waiting' THEN urgency END, CASE state WHEN 'waiting' THEN next_try END,"
                " changed_at DESC, id LIMIT ?2 OFFSET ?3",
                (State(state) if state else None, limit, offset),
            ).fetchall()
        return tuple(map(_entry, rows))

    def counts(self) -> dict[State, int]:
        """How many entries there are in each state."""
        with self._read() as database:
            found = dict(database.execute("SELECT state, count(*) FROM fetches GROUP BY state").fetchall())
        return {state: int(found.get(state, 0)) for state in State}

    def retry(self, number: int, *, when: When | str = When.NOW) -> FetchEntry | None:
        """Want a page again that is not under way; None when there is no such entry."""
        entry = self.get(number)
        if entry is None:
            return None
        return self.add(entry.url, when=when, why=entry.why) if entry.state is not State.FETCHING else entry

    def remove(self, number: int) -> bool:
        """Take an entry out, whatever its state; whether there was one."""
        with self._write() as database:
            return database.execute("DELETE FROM fetches WHERE id = ?", (number,)).rowcount > 0

    def forget(self, url: str) -> bool:
        """Take an address out for good; whether it was in."""
        with self._write() as database:
            forgotten = database.execute("DELETE FROM fetches WHERE url = ?", (url,)).rowcount > 0
        with self._read() as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # or it would linger in the write-ahead log
        return forgotten

    def claim(self, whens: Collection[When], *, busy_hosts: Collection[str] = ()) -> FetchEntry | None:
        """Begin with the most urgent entry that is due, counting a try; None when there is none."""
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
        """How much of a page has come."""
        with self._write() as database:
            database.execute(
                "UPDATE fetches SET received = ?, expected = ? WHERE id = ? AND state = 'fetching'",
                (received, expected, number),
            )

    def finish(self, number: int, state: State, *, error: str = "", received: int = 0) -> None:
        """The last word on an entry: done, failed or refused."""
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
        """Put back what was under way when its process died; how many that were. For whoever alone works it off.

        A page that killed the process so often is not tried for ever.
        """
        with self._write() as database:
            database.execute(
                "UPDATE fetches SET state = 'failed', error = 'never came to an end' WHERE state = 'fetching'"
                " AND tries >= ?",
                (max_tries,),
            )
            return database.execute("UPDATE fetches SET state = 'waiting' WHERE state = 'fetching'").rowcount

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._database.close()

    def _make_room(self, database: sqlite3.Connection, url: str) -> None:
        """The oldest that are done with go first; what still waits is never dropped."""
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
            raise NotQueued(f"the fetch queue is full: {self._max_entries} pages wait already")

    def _begun(self) -> sqlite3.Connection:
        """A damaged queue is set aside: a school must not lose the web with it."""
        try:
            database = _connected(self._path)
            if database.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok":
                return database
            database.close()
        except sqlite3.Error as error:
            if not is_damage(error):
                raise
        log.error("the fetch queue was damaged; it lies in %s now", set_aside(self._path))
        return _connected(self._path)

    @contextmanager
    def _read(self) -> Iterator[sqlite3.Connection]:
        try:
            with self._lock:
                yield self._database
        except sqlite3.Error as error:
            raise StoreError(f"{self._path}: {error}") from error

    @contextmanager
    def _write(self) -> Iterator[sqlite3.Connection]:
        with self._read() as database:
            database.execute("BEGIN IMMEDIATE")
            try:
                yield database
            except BaseException:
                database.execute("ROLLBACK")
                raise
            database.execute("COMMIT")


def wanted(url: str) -> str:
    """The form under which a page is queued. Raises NotQueued for what may not be fetched on anybody's word."""
    if is_personal_url(url):
        raise NotQueued(f"the address is personal (a name, a session or a token): {url[:100]!r}")
    try:
        return urls.normal(url)
    except ValueError:
        raise NotQueued(f"not an address of the web: {url[:100]!r}") from None


def _connected(path: Path) -> sqlite3.Connection:
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
    database = sqlite3.connect(path, timeout=10, isolation_level=None, check_same_thread=False)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = NORMAL")
    database.execute("PRAGMA secure_delete = ON")
    database.executescript(_SCHEMA)
    return database


def _host(url: str) -> str:
    return urlsplit(url).netloc


def _entry(row: Row) -> FetchEntry:
    number, url, urgency, why, state, tries, next_try, error, received, expected, added_at, changed_at = row
    return FetchEntry(
        id=number,
        url=url,
        when=_URGENCY[urgency],
        why=why,
        state=State(state),
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
