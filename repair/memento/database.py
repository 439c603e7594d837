"""The SQLite file of what archives said and how they fare, shared by all processes of linkmend.

WAL and short transactions: readers never wait, and `kill -9` loses at most the last write. It is a memory, not a
store, so a damaged file is set aside and a new one begun.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from repair.errors import ArchiveMemoryError
from repair.files import is_damage
from repair.sqlite import SqliteFile, transaction

_VERSION = 1
_BUSY_TIMEOUT_S = 5.0
# The lengths stand in the indexes so that adding them up reads no bodies.
_SCHEMA = """
CREATE TABLE answers (
    url TEXT NOT NULL, archive TEXT NOT NULL, outcome TEXT NOT NULL, said_at REAL NOT NULL,
    expires_at REAL NOT NULL, body BLOB NOT NULL, PRIMARY KEY (url, archive)
);
CREATE INDEX answers_age ON answers (said_at, length(body));
CREATE TABLE pages (memento TEXT PRIMARY KEY, read_at REAL NOT NULL, body BLOB NOT NULL);
CREATE INDEX pages_age ON pages (read_at, length(body));
CREATE TABLE hosts (
    host TEXT NOT NULL, archive TEXT NOT NULL, asked INTEGER NOT NULL, answered INTEGER NOT NULL,
    at REAL NOT NULL, PRIMARY KEY (host, archive)
) WITHOUT ROWID;
CREATE TABLE paces (
    archive TEXT NOT NULL, kind TEXT NOT NULL, due_at REAL NOT NULL, PRIMARY KEY (archive, kind)
) WITHOUT ROWID;
CREATE TABLE healths (
    archive TEXT PRIMARY KEY, failures INTEGER NOT NULL, rests_until REAL NOT NULL, rest_s REAL NOT NULL
) WITHOUT ROWID;
"""


class ArchiveDatabase:
    """One connection, for one thread at a time; ArchiveMemoryError when the file cannot be used."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = SqliteFile(path=path, version=_VERSION, upgrades={0: _SCHEMA}, busy_s=_BUSY_TIMEOUT_S)
        try:
            self._connection = self._file.open_or_replace()
        except (OSError, sqlite3.Error) as error:
            raise ArchiveMemoryError(f"{path}: {error}") from error

    def read(self, statement: str, *values: Any) -> list[Any]:
        """The rows that a statement finds."""
        with self._translate_errors():
            return self._connection.execute(statement, values).fetchall()

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """A transaction that is committed at the end of the block, or undone when the block raises."""
        with self._translate_errors(), transaction(self._connection) as connection:
            yield connection

    def close(self) -> None:
        self._connection.close()

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Damage may show only when a page of the file is read: then the next question meets a new file."""
        try:
            yield
        except sqlite3.Error as error:
            if is_damage(error):
                self._connection.close()
                with suppress(OSError, sqlite3.Error):
                    self._connection = self._file.replace(error)
            raise ArchiveMemoryError(f"{self.path}: {error}") from error
