"""The SQLite file of topics, of the pages that belong to them, of the frontier of each, and of what nights brought.

What is committed survives `kill -9`. It can be opened by several processes; only one crawls.
"""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from repair.errors import RepairError
from repair.sqlite import SqliteFile, transaction

FOLDER = "topics"
"""Where it is in a data folder."""
NAME = "topics.sqlite"
_OF_PAGES = ("page_topics", "verdicts", "counterexamples", "frontier", "wanted", "brought", "revisits")
_CACHE_KIB = 16_384  # the links of a page are all over the frontier

_SCHEMA = """
CREATE TABLE IF NOT EXISTS topics (
    name TEXT PRIMARY KEY, subtopics TEXT NOT NULL, words TEXT NOT NULL, seeds TEXT NOT NULL, language TEXT NOT NULL,
    max_pages INTEGER NOT NULL, max_bytes INTEGER NOT NULL, hours TEXT NOT NULL, groups TEXT NOT NULL,
    changed_at REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS page_topics (
    url TEXT NOT NULL, topic TEXT NOT NULL, probability REAL NOT NULL, judged_at REAL NOT NULL,
    PRIMARY KEY (url, topic)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS page_topics_best ON page_topics (topic, probability);
CREATE TABLE IF NOT EXISTS verdicts (
    url TEXT NOT NULL, topic TEXT NOT NULL, belongs INTEGER NOT NULL, PRIMARY KEY (url, topic)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS counterexamples (
    id INTEGER PRIMARY KEY, topic TEXT NOT NULL, url TEXT NOT NULL, terms BLOB NOT NULL, UNIQUE (topic, url)
);
CREATE TABLE IF NOT EXISTS frontier (
    topic TEXT NOT NULL, url TEXT NOT NULL, state TEXT NOT NULL, depth INTEGER NOT NULL, anchor TEXT NOT NULL,
    context TEXT NOT NULL, parents INTEGER NOT NULL, good_parents INTEGER NOT NULL, best REAL NOT NULL,
    total REAL NOT NULL, nav INTEGER NOT NULL, worth REAL NOT NULL, tries INTEGER NOT NULL DEFAULT 0,
    next_try REAL NOT NULL DEFAULT 0, note TEXT NOT NULL DEFAULT '', probability REAL, fingerprint TEXT,
    received INTEGER NOT NULL DEFAULT 0, final_url TEXT NOT NULL DEFAULT '', changed_at REAL NOT NULL,
    PRIMARY KEY (topic, url)
) WITHOUT ROWID;
DROP INDEX IF EXISTS frontier_state;
CREATE TABLE IF NOT EXISTS wanted (
    url TEXT PRIMARY KEY, topic TEXT NOT NULL, state TEXT NOT NULL, tries INTEGER NOT NULL, next_try REAL NOT NULL,
    note TEXT NOT NULL, changed_at REAL NOT NULL, grown_at REAL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS nights (
    id INTEGER PRIMARY KEY AUTOINCREMENT, started_at REAL NOT NULL, ended_at REAL, stopped TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS brought (
    night INTEGER NOT NULL, url TEXT NOT NULL, how TEXT NOT NULL, topic TEXT NOT NULL, wanted TEXT NOT NULL,
    pages INTEGER NOT NULL, received INTEGER NOT NULL, PRIMARY KEY (night, url, how)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS revisits (
    url TEXT PRIMARY KEY, checked_at REAL NOT NULL, interval_s REAL NOT NULL, due_at REAL NOT NULL,
    gone INTEGER NOT NULL, changes INTEGER NOT NULL, checks INTEGER NOT NULL
) WITHOUT ROWID;
"""


class TopicDatabaseError(RepairError):
    """The file of topics cannot be opened, read or written."""


class TopicDatabase:
    """The file, for several threads."""

    def __init__(self, folder: Path) -> None:
        """Raises TopicDatabaseError. A damaged file is an error: it holds what people wrote."""
        self._path = folder / NAME
        self._lock = threading.RLock()
        try:
            self._connection = SqliteFile(path=self._path, schema=_SCHEMA).open()
            self._connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        except (OSError, sqlite3.Error) as error:
            raise TopicDatabaseError(f"{self._path}: cannot open the topics: {error}") from error

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """The connection, for one thread at a time."""
        try:
            with self._lock:
                yield self._connection
        except sqlite3.Error as error:
            raise TopicDatabaseError(f"{self._path}: {error}") from error

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """A transaction, committed at the end of the block."""
        with self.read() as connection, transaction(connection):
            yield connection

    def forget(self, url: str) -> None:
        """Delete an address for good, with what was recorded of it; a topic no longer begins there."""
        with self.write() as connection:
            for table in _OF_PAGES:
                connection.execute(f"DELETE FROM {table} WHERE url = ?", (url,))  # noqa: S608  (constants)
            connection.execute("DELETE FROM frontier WHERE final_url = ?", (url,))
            connection.execute(
                "UPDATE topics SET seeds = (SELECT json_group_array(value) FROM json_each(seeds) WHERE value <> ?1)"
                " WHERE ?1 IN (SELECT value FROM json_each(seeds))",
                (url,),
            )
            connection.execute("UPDATE brought SET wanted = '' WHERE wanted = ?", (url,))
        with self.read() as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # or it would linger in the write-ahead log

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()
