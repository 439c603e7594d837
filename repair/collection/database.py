"""The SQLite database under the collection: its tables, one connection per thread, transactions.

SQLite is the source of truth; the full-text index can always be made again from it. It runs in WAL mode
with `synchronous=NORMAL`: readers never wait for the writer, a `kill -9` loses nothing that was committed,
and a power cut can never damage the file. What a power cut may lose is the last seconds of harvest, which
the next visit brings back; that is worth a tenth of the cost of an fsync per page. Where work must not be
lost (the end of an import), `settle` moves the log into the database with an fsync.
"""

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from repair.errors import CollectionError
from repair.sqlite import SqliteFile, transaction

VERSION = 2
_BUSY_TIMEOUT_S = 30.0
_ZEROED_AT_ONCE = 1_000  # pages in one transaction, so that other processes can write in between
_LOG_TRIES, _LOG_WAIT_S = 50, 0.1

_VERSIONS = """
CREATE TABLE versions (
    page INTEGER NOT NULL REFERENCES pages (id),
    fetched_at INTEGER NOT NULL,
    content_type TEXT NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (page, fetched_at)
);
"""
# Long columns come last: SQLite reads a row from its start, so reading a title never reads the text.
# AUTOINCREMENT: a removed page's number is never reused while the index still has it.
_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE urls (id INTEGER PRIMARY KEY AUTOINCREMENT, url TEXT NOT NULL UNIQUE);
CREATE TABLE pages (
    id INTEGER PRIMARY KEY REFERENCES urls (id),
    title TEXT NOT NULL,
    language TEXT NOT NULL,
    fetched_at REAL NOT NULL,
    seen_at REAL NOT NULL,
    pinned INTEGER NOT NULL,
    digest BLOB NOT NULL,
    raw_digest BLOB NOT NULL,
    simhash INTEGER,
    canonical_url TEXT,
    headings TEXT NOT NULL,
    description TEXT NOT NULL,
    keywords TEXT NOT NULL,
    text TEXT NOT NULL
);
CREATE INDEX pages_seen ON pages (pinned, seen_at);
CREATE TABLE copies (
    page INTEGER PRIMARY KEY REFERENCES pages (id),
    content_type TEXT NOT NULL,
    fetched_at REAL NOT NULL,
    body BLOB NOT NULL
);
CREATE TABLE links (
    source INTEGER NOT NULL,
    position INTEGER NOT NULL,
    target INTEGER NOT NULL,
    nav INTEGER NOT NULL,
    anchor TEXT NOT NULL,
    before TEXT NOT NULL,
    after TEXT NOT NULL,
    PRIMARY KEY (source, position)
) WITHOUT ROWID;
CREATE INDEX links_target ON links (target, nav, source);
CREATE TABLE pending (page INTEGER PRIMARY KEY, change INTEGER NOT NULL, due_at REAL NOT NULL);
CREATE INDEX pending_due ON pending (due_at);
INSERT INTO meta VALUES ('changes', '0');
"""
# The migration to this version from each earlier one, 0 being an empty file. None may rewrite stored pages:
# they may be gigabytes, and users wait.
_UPGRADES = {0: _SCHEMA + _VERSIONS, 1: _VERSIONS}


class Database:
    """One connection per thread; `write` is a transaction, and a nested `write` joins it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._local = threading.local()
        self._connections: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        self._watching = threading.Lock()
        self._watcher: sqlite3.Connection | None = None
        self._closed = False
        self._file = SqliteFile(
            path=path,
            version=VERSION,
            upgrades=_UPGRADES,
            busy_s=_BUSY_TIMEOUT_S,
            secure_delete="FAST",  # what is removed is overwritten where that is free
        )
        try:
            self._keep(self._file.open())
        except (OSError, sqlite3.Error) as error:
            raise CollectionError(f"{path}: {error}") from error

    def read(self) -> "_Reading":
        """This thread's connection; each statement sees what was committed when it began."""
        return _Reading(self)

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """A transaction that is committed at the end of the block, or undone when the block raises."""
        with self._translate_errors(), transaction(self.connection()) as connection:
            yield connection

    def version(self) -> int:
        """A number that changes with every commit of any thread or process; for comparison within this process."""
        with self._translate_errors(), self._watching:
            if self._watcher is None:  # a connection of its own: SQLite does not tell one of its own commits
                self._watcher = self._file.connect()
            return int(self._watcher.execute("PRAGMA data_version").fetchone()[0])

    def settle(self) -> None:
        """Fsync what was committed; does what it can while other connections read."""
        with self.read() as connection:
            connection.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def scrub(self) -> bool:
        """Overwrite deleted content wherever the files still have it; False when other connections read for too long.

        SQLite overwrites deleted rows, but not the pages they free (too costly on every update), nor the log. So
        the free pages are filled with zeros here, a batch at a time, and released again.
        """
        self._drop_zeros()
        with self.write() as connection:
            connection.execute("CREATE TABLE zeros (zeros BLOB NOT NULL)")
            size = int(connection.execute("PRAGMA page_size").fetchone()[0])
            free = int(connection.execute("PRAGMA freelist_count").fetchone()[0])
        for start in range(0, free, _ZEROED_AT_ONCE):
            count = min(free - start, _ZEROED_AT_ONCE)
            with self.write() as connection:
                connection.execute("INSERT INTO zeros VALUES (zeroblob(?))", (count * size,))
        self._drop_zeros()
        return self._empty_log()

    def _drop_zeros(self) -> None:
        with self.write() as connection:
            connection.execute("DROP TABLE IF EXISTS zeros")  # a killed process may have left it

    def _empty_log(self) -> bool:
        for _ in range(_LOG_TRIES):
            with self.read() as connection:
                if connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0:
                    return True
            time.sleep(_LOG_WAIT_S)
        return False

    def close(self) -> None:
        """Close the connections of all threads; statements still running elsewhere fail."""
        with self._lock:
            self._closed = True
            connections, self._connections = self._connections, []
        with self._watching:
            if self._watcher is not None:
                self._watcher.close()
        for connection in connections:
            connection.close()

    def connection(self) -> sqlite3.Connection:
        """This thread's connection."""
        existing: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if self._closed:
            raise CollectionError(f"{self.path}: the collection is closed")
        if existing is not None:
            return existing
        return self._keep(self._file.connect())

    def _keep(self, connection: sqlite3.Connection) -> sqlite3.Connection:
        """As this thread's connection; another thread may close it."""
        connection.execute("PRAGMA cache_size = -16384")
        self._local.connection = connection
        with self._lock:
            self._connections.append(connection)
        return connection

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise CollectionError(f"{self.path}: {error}") from error


class _Reading:
    """A block that reads. A repair enters a hundred of them: a generator for each would cost more than some reads."""

    __slots__ = ("_database",)

    def __init__(self, database: Database) -> None:
        self._database = database

    def __enter__(self) -> sqlite3.Connection:
        try:
            return self._database.connection()
        except sqlite3.Error as error:
            raise CollectionError(f"{self._database.path}: {error}") from error

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, sqlite3.Error):
            raise CollectionError(f"{self._database.path}: {error}") from error
