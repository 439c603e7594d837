"""Lessons, their documents and links, and requests to unblock, in one SQLite file.

Every method blocks for a moment and may be called from any thread.
"""

import secrets
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from proxy.errors import StoreError
from proxy.lessons.model import CheckState, Lesson, LessonLink, UnblockRequest
from repair.parse.formats.worksheets.model import WorksheetFormat
from repair.sqlite import SqliteFile, transaction

_SCHEMA = """
CREATE TABLE IF NOT EXISTS lessons (
    id INTEGER PRIMARY KEY AUTOINCREMENT, owner TEXT NOT NULL, title TEXT NOT NULL, format TEXT NOT NULL,
    file_name TEXT NOT NULL, document BLOB NOT NULL, made_at REAL NOT NULL, code TEXT UNIQUE
);
CREATE INDEX IF NOT EXISTS lessons_owner ON lessons (owner, id);
CREATE TABLE IF NOT EXISTS links (
    lesson INTEGER NOT NULL, number INTEGER NOT NULL, waiting INTEGER NOT NULL, link BLOB NOT NULL,
    PRIMARY KEY (lesson, number)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS unblocking (
    id INTEGER PRIMARY KEY AUTOINCREMENT, url TEXT NOT NULL UNIQUE, rule TEXT NOT NULL, by TEXT NOT NULL,
    asked_at REAL NOT NULL
);
"""
_SELECT = "SELECT id, owner, title, format, file_name, made_at, coalesce(code, '') FROM lessons "
_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
_CODE_LENGTH = 6
_MAX_REQUESTS = 1_000

_Row = tuple[int, str, str, str, str, float, str]


class LessonStore:
    """The file. Raises StoreError when the disk fails."""

    def __init__(self, path: Path, *, clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._clock = clock
        self._lock = threading.Lock()
        try:
            self._database = SqliteFile(path=path, schema=_SCHEMA).open()
        except (OSError, sqlite3.Error) as error:
            raise StoreError(f"{path}: cannot open the lessons: {error}") from error

    def add(
        self,
        owner: str,
        title: str,
        format_: WorksheetFormat,
        links: Iterable[LessonLink],
        *,
        file_name: str = "",
        document: bytes = b"",
        keep: int = 100,
    ) -> Lesson:
        """Store a lesson; of this owner's, only the `keep` latest stay."""
        with self._write() as database:
            made_at = self._clock()
            number = database.execute(
                "INSERT INTO lessons (owner, title, format, file_name, document, made_at) VALUES (?, ?, ?, ?, ?, ?)",
                (owner, title, format_, file_name, document, made_at),
            ).lastrowid
            database.executemany(
                "INSERT INTO links VALUES (?, ?, ?, ?)", [_link_row(number, each) for each in links]
            )
            old = database.execute(
                "SELECT id FROM lessons WHERE owner = ? ORDER BY id DESC LIMIT -1 OFFSET ?",
                (owner, max(1, keep)),
            ).fetchall()
            for (each,) in old:
                _delete(database, each)
            return _lesson(database.execute(_SELECT + "WHERE id = ?", (number,)).fetchone())

    def get(self, number: int, owner: str) -> Lesson | None:
        """A lesson of this owner; None when there is none, or it is another's."""
        with self._read() as database:
            row = database.execute(_SELECT + "WHERE id = ? AND owner = ?", (number, owner)).fetchone()
        return _lesson(row) if row else None

    def by_code(self, code: str) -> Lesson | None:
        """A published lesson."""
        with self._read() as database:
            row = database.execute(_SELECT + "WHERE code = ?", (code.lower(),)).fetchone()
        return _lesson(row) if row else None

    def of(self, owner: str, limit: int = 100) -> tuple[Lesson, ...]:
        """The lessons of an owner, the latest first."""
        with self._read() as database:
            rows = database.execute(
                _SELECT + "WHERE owner = ? ORDER BY id DESC LIMIT ?", (owner, limit)
            ).fetchall()
        return tuple(map(_lesson, rows))

    def document(self, number: int) -> bytes:
        with self._read() as database:
            row = database.execute("SELECT document FROM lessons WHERE id = ?", (number,)).fetchone()
        return bytes(row[0]) if row else b""

    def links(self, number: int) -> tuple[LessonLink, ...]:
        """The links of a lesson, in the order of the document."""
        with self._read() as database:
            rows = database.execute(
                "SELECT link FROM links WHERE lesson = ? ORDER BY number", (number,)
            ).fetchall()
        return tuple(msgspec.json.decode(row[0], type=LessonLink) for row in rows)

    def unfinished(self) -> tuple[int, ...]:
        """Lessons with links that wait to be checked."""
        with self._read() as database:
            rows = database.execute(
                "SELECT DISTINCT lesson FROM links WHERE waiting ORDER BY lesson"
            ).fetchall()
        return tuple(row[0] for row in rows)

    def change(
        self, lesson: int, number: int, change: Callable[[LessonLink], LessonLink]
    ) -> LessonLink | None:
        """Replace a link by what `change` makes of it; None when it is gone."""
        with self._write() as database:
            row = database.execute(
                "SELECT link FROM links WHERE lesson = ? AND number = ?", (lesson, number)
            ).fetchone()
            if row is None:
                return None
            fresh = change(msgspec.json.decode(row[0], type=LessonLink))
            database.execute("REPLACE INTO links VALUES (?, ?, ?, ?)", _link_row(lesson, fresh))
            return fresh

    def publish(self, number: int) -> str:
        """The code of a lesson, made if it has none."""
        with self._write() as database:
            row = database.execute(
                "SELECT coalesce(code, '') FROM lessons WHERE id = ?", (number,)
            ).fetchone()
            if row is None or row[0]:
                return row[0] if row else ""
            while True:
                code = "".join(secrets.choice(_LETTERS) for _ in range(_CODE_LENGTH))
                if not database.execute("SELECT 1 FROM lessons WHERE code = ?", (code,)).fetchone():
                    break
            database.execute("UPDATE lessons SET code = ? WHERE id = ?", (code, number))
            return code

    def withdraw(self, number: int) -> None:
        """Take the lesson page back; its code is not used again by chance."""
        with self._write() as database:
            database.execute("UPDATE lessons SET code = NULL WHERE id = ?", (number,))

    def remove(self, number: int) -> None:
        with self._write() as database:
            _delete(database, number)

    def ask_to_unblock(self, url: str, rule: str, by: str) -> bool:
        """Note a request for the admin, once for each address; False when there are too many."""
        with self._write() as database:
            if database.execute("SELECT count(*) FROM unblocking").fetchone()[0] >= _MAX_REQUESTS:
                return False
            database.execute(
                "INSERT INTO unblocking (url, rule, by, asked_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
                (url, rule, by, self._clock()),
            )
            return True

    def requests(self) -> tuple[UnblockRequest, ...]:
        """What teachers ask the admin to unblock, the oldest first."""
        with self._read() as database:
            rows = database.execute(
                "SELECT id, url, rule, by, asked_at FROM unblocking ORDER BY id"
            ).fetchall()
        return tuple(UnblockRequest(id=a, url=b, rule=c, by=d, asked_at=e) for a, b, c, d, e in rows)

    def settle(self, request: int) -> bool:
        """Drop a request; whether there was one."""
        with self._write() as database:
            return database.execute("DELETE FROM unblocking WHERE id = ?", (request,)).rowcount > 0

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


def _delete(database: sqlite3.Connection, lesson: int) -> None:
    database.execute("DELETE FROM links WHERE lesson = ?", (lesson,))
    database.execute("DELETE FROM lessons WHERE id = ?", (lesson,))


def _link_row(lesson: int | None, link: LessonLink) -> tuple[int | None, int, bool, bytes]:
    return lesson, link.number, link.found.state is CheckState.WAITING, msgspec.json.encode(link)


def _lesson(row: _Row) -> Lesson:
    number, owner, title, format_, file_name, made_at, code = row
    return Lesson(
        id=number,
        owner=owner,
        title=title,
        format=WorksheetFormat(format_),
        file_name=file_name,
        made_at=made_at,
        code=code,
    )
