"""The SQLite file of what archives said and how they fare, shared by all processes of linkmend.

WAL and short transactions: readers never wait, and `kill -9` loses at most the last write. It is a memory, not a
store, so a damaged file is set aside and a new one begun.
"""

import logging
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from repair.errors import ArchiveMemoryError
from repair.files import is_damage, set_aside

log = logging.getLogger(__name__)

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


class Notebook:
    """One connection, for one thread at a time; ArchiveMemoryError when the file cannot be used."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = self._begun()
        except OSError as error:
            raise ArchiveMemoryError(f"{path}: {error.strerror}") from error
        except sqlite3.Error as error:
            raise ArchiveMemoryError(f"{path}: {error}") from error

    def _begun(self) -> sqlite3.Connection:
        try:
            return _connected(self.path)
        except sqlite3.Error as error:
            if not is_damage(error):
                raise
            return self._anew(error)

    def _anew(self, error: sqlite3.Error) -> sqlite3.Connection:
        log.warning("%s is damaged and kept as %s: %s", self.path, set_aside(self.path), error)
        return _connected(self.path)

    def read(self, statement: str, *values: Any) -> list[Any]:
        """The rows that a statement finds."""
        with self._translated():
            return self._connection.execute(statement, values).fetchall()

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """A transaction that is committed at the end of the block, or undone when the block raises."""
        with self._translated():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
            except BaseException:
                with suppress(sqlite3.Error):  # a damaged file may have been rolled back already
                    self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    def close(self) -> None:
        self._connection.close()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Damage may show only when a page of the file is read: then the next question meets a new file."""
        try:
            yield
        except sqlite3.Error as error:
            if is_damage(error):
                self._renew(error)
            raise ArchiveMemoryError(f"{self.path}: {error}") from error

    def _renew(self, error: sqlite3.Error) -> None:
        self._connection.close()
        with suppress(OSError, sqlite3.Error):
            self._connection = self._anew(error)


def _connected(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=_BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("BEGIN IMMEDIATE")
        found = connection.execute("PRAGMA user_version").fetchone()[0]
        if found not in (0, _VERSION):
            raise sqlite3.OperationalError(f"expected version {_VERSION}, found {found}")
        for statement in _statements() if found == 0 else ():
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {_VERSION}")
        connection.execute("COMMIT")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _statements() -> Sequence[str]:
    return [statement for statement in _SCHEMA.split(";\n") if statement.strip()]
