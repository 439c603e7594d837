"""How linkmend opens its SQLite files: settings, tables and their versions, damage.

All run in WAL mode with `synchronous = NORMAL`: readers never wait for a writer, `kill -9` loses nothing that was
committed, and a power cut damages nothing, but may lose the last moments. Files are for their owner only, and what is
deleted is overwritten.
"""

import logging
import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from repair.files import is_damage, set_aside

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class SqliteFile:
    """A database in a file. Its connections may pass from thread to thread, and are for one at a time.

    `schema` is run at each opening, and so must do nothing the second time. A file whose tables change has a
    `version` instead, and `upgrades` make it out of each earlier one, 0 being an empty file. With `isolation_level`
    None, only `transaction` begins a transaction.
    """

    path: Path
    schema: str = ""
    version: int = 0
    upgrades: Mapping[int, str] = field(default_factory=dict)
    busy_s: float = 10.0
    isolation_level: Literal["DEFERRED"] | None = None
    synchronous: Literal["NORMAL", "OFF"] = "NORMAL"
    secure_delete: Literal["ON", "FAST"] = "ON"

    def connect(self) -> sqlite3.Connection:
        """A connection to a file that was opened before."""
        connection = sqlite3.connect(
            self.path, timeout=self.busy_s, isolation_level=self.isolation_level, check_same_thread=False
        )
        with _closed_on_error(connection):
            connection.execute(f"PRAGMA synchronous = {self.synchronous}")
            connection.execute(f"PRAGMA secure_delete = {self.secure_delete}")
        return connection

    def open(self) -> sqlite3.Connection:
        """A connection to the file, made or brought up to date if need be.

        Raises OSError, and sqlite3.Error also for a file of a version that is not known.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(self.path, os.O_WRONLY | os.O_CREAT, 0o600))
        connection = self.connect()
        with _closed_on_error(connection):
            connection.execute("PRAGMA journal_mode = WAL")
            connection.executescript(self.schema)
            if self.version:
                self._upgrade(connection)
        return connection

    def open_or_replace(self, *, check: bool = False) -> sqlite3.Connection:
        """The same for what can be learnt again: a damaged file is set aside, and an empty one begun.

        With `check` the whole file is read first: damage may show only where a page is used.
        """
        try:
            connection = self.open()
            if not check or (problem := connection.execute("PRAGMA quick_check(1)").fetchone()[0]) == "ok":
                return connection
            connection.close()
        except sqlite3.Error as error:
            if not is_damage(error):
                raise
            problem = error
        return self.replace(problem)

    def replace(self, reason: object) -> sqlite3.Connection:
        """Set the file aside, and begin an empty one."""
        log.error("%s was damaged (%s) and is kept as %s", self.path, reason, set_aside(self.path))
        return self.open()

    def _upgrade(self, connection: sqlite3.Connection) -> None:
        """In one transaction: a process killed within it leaves the file as it was."""
        with transaction(connection):
            found = connection.execute("PRAGMA user_version").fetchone()[0]
            if found in self.upgrades:
                for statement in self.upgrades[found].strip().removesuffix(";").split(";\n"):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {self.version}")
            elif found != self.version:
                raise sqlite3.OperationalError(f"expected version {self.version}, found {found}")


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """Committed at the end of the block, undone when the block raises. A transaction within another joins it."""
    if connection.in_transaction:
        yield connection
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield connection
    except BaseException:
        with suppress(sqlite3.Error):  # a full disk or a damaged file has undone it already
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


@contextmanager
def _closed_on_error(connection: sqlite3.Connection) -> Iterator[None]:
    try:
        yield
    except BaseException:
        connection.close()
        raise
