"""A SQLite file of the teachers' data. Methods of those who inherit block for a moment, from any thread."""

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from proxy.errors import StoreError
from repair.sqlite import SqliteFile, transaction


class StoreFile:
    """The file. Raises StoreError when the disk fails."""

    def __init__(self, path: Path, schema: str, *, clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._clock = clock
        self._lock = threading.Lock()
        try:
            self._database = SqliteFile(path=path, schema=schema).open()
        except (OSError, sqlite3.Error) as error:
            raise StoreError(f"{path}: cannot open what teachers keep here: {error}") from error

    def close(self) -> None:
        with self._lock:
            self._database.close()

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

    def _empty_journal(self) -> None:
        """What was erased leaves the journal too."""
        with self._read() as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
