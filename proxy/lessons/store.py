"""Lessons, their documents and links, and requests to unblock, in one SQLite file.

Every method blocks for a moment and may be called from any thread.
"""

import secrets
import sqlite3
import time
from collections.abc import Callable, Collection, Iterable
from pathlib import Path

import msgspec
from msgspec.structs import replace

from proxy.lessons.model import CheckState, Lesson, LessonLink, UnblockRequest
from proxy.lessons.storefile import StoreFile
from repair.collection.pins import same_page_key
from repair.parse.formats.worksheets.model import WorksheetFormat
from repair.text import urls

LESSON_FOLDER = "lessons"
LESSON_FILE = "lessons.sqlite"
"""The folder and the file in the data."""
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
CREATE TABLE IF NOT EXISTS watched (
    lesson INTEGER PRIMARY KEY, page TEXT NOT NULL, checked_at REAL NOT NULL,
    fault TEXT NOT NULL DEFAULT '', told TEXT
);
"""
_SELECT = """SELECT id, owner, title, format, file_name, made_at, coalesce(code, ''), coalesce(page, ''),
 coalesce(checked_at, 0.0), coalesce(fault, '') FROM lessons LEFT JOIN watched ON lesson = id """
_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
_CODE_LENGTH = 6
_MAX_REQUESTS = 1_000

_Row = tuple[int, str, str, str, str, float, str, str, float, str]


class LessonStore(StoreFile):
    """The file. Raises StoreError when the disk fails."""

    def __init__(self, path: Path, *, clock: Callable[[], float] = time.time) -> None:
        super().__init__(path, _SCHEMA, clock=clock)

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
        """Store a lesson; of this owner's, only the `keep` latest stay, and all pages that are watched."""
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
                "SELECT id FROM lessons WHERE owner = ? AND id NOT IN (SELECT lesson FROM watched)"
                " ORDER BY id DESC LIMIT -1 OFFSET ?",
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

    def of(self, owner: str, limit: int = 100, *, watched: bool = False) -> tuple[Lesson, ...]:
        """The lessons of an owner, the latest first; or their pages, which are `watched`."""
        which = "page IS NOT NULL" if watched else "page IS NULL"
        with self._read() as database:
            rows = database.execute(
                _SELECT + f"WHERE owner = ? AND {which} ORDER BY id DESC LIMIT ?",
                (owner, limit),
            ).fetchall()
        return tuple(map(_lesson, rows))

    def watch(self, number: int, page: str) -> None:
        """Make a lesson one of its owner's pages: the links of `page` are checked every night."""
        with self._write() as database:
            database.execute(
                "INSERT OR REPLACE INTO watched (lesson, page, checked_at) VALUES (?, ?, ?)",
                (number, page, self._clock()),
            )

    def watched(self, checked_before: float | None = None) -> tuple[Lesson, ...]:
        """All pages that are watched, those checked longest ago first."""
        most = float("inf") if checked_before is None else checked_before
        with self._read() as database:
            rows = database.execute(
                _SELECT + "WHERE page IS NOT NULL AND checked_at < ? ORDER BY checked_at", (most,)
            ).fetchall()
        return tuple(map(_lesson, rows))

    def renew(self, number: int, links: Collection[LessonLink] | None, *, fault: str = "") -> None:
        """Note a check of a page that is watched: its links as they are now, or why it could not be opened."""
        with self._write() as database:
            changed = database.execute(
                "UPDATE watched SET checked_at = ?, fault = ? WHERE lesson = ?",
                (self._clock(), fault, number),
            ).rowcount
            if links is None or not changed:
                return
            database.execute("DELETE FROM links WHERE lesson = ?", (number,))
            database.executemany(
                "INSERT INTO links VALUES (?, ?, ?, ?)", [_link_row(number, each) for each in links]
            )

    def told(self, number: int) -> frozenset[str] | None:
        """The dead links that the owner of a page knows of; None before the first check."""
        with self._read() as database:
            row = database.execute("SELECT told FROM watched WHERE lesson = ?", (number,)).fetchone()
        return None if row is None or row[0] is None else frozenset(msgspec.json.decode(row[0]))

    def note_told(self, number: int, dead: Iterable[str]) -> None:
        with self._write() as database:
            told = msgspec.json.encode(sorted(dead)).decode()
            database.execute("UPDATE watched SET told = ? WHERE lesson = ?", (told, number))

    def owner_of_link(self, url: str, source: str) -> str:
        """Whose page or shared lesson a link stood on: the source page decides, else the latest that has the link;
        "" when nobody's does."""
        with self._read() as database:
            shared = database.execute(
                "SELECT owner, page, id FROM lessons LEFT JOIN watched ON lesson = id"
                " WHERE page IS NOT NULL OR code IS NOT NULL ORDER BY id DESC"
            ).fetchall()
            for owner, page, _ in shared:
                if page and _is_same(page, source):
                    return str(owner)
            for owner, _, number in shared:
                rows = database.execute(
                    "SELECT link FROM links WHERE lesson = ? AND instr(link, CAST(? AS BLOB))",
                    (number, _piece(url)),
                ).fetchall()
                found = (msgspec.json.decode(row[0], type=LessonLink) for row in rows)
                if any(_is_same(each, url) for link in found for each in (link.url, link.target)):
                    return str(owner)
        return ""

    def forget(self, url: str) -> int:
        """Erase a page: as a replacement and as a page that is watched. What teachers wrote, and their links, stay.
        Returns how many rows changed."""
        with self._write() as database:
            pages = database.execute("SELECT lesson, page FROM watched").fetchall()
            watched = [number for number, page in pages if _is_same(page, url)]
            for number in watched:
                _delete(database, number)
            changed = len(watched)
            rows = database.execute(
                "SELECT lesson, link FROM links WHERE instr(link, CAST(? AS BLOB))", (_piece(url),)
            ).fetchall()
            for lesson, raw in rows:
                link = msgspec.json.decode(raw, type=LessonLink)
                fresh = _without(link, url)
                if fresh != link:
                    database.execute("REPLACE INTO links VALUES (?, ?, ?, ?)", _link_row(lesson, fresh))
                    changed += 1
            asked = database.execute("SELECT id, url FROM unblocking").fetchall()
            for number in [number for number, each in asked if _is_same(each, url)]:
                changed += database.execute("DELETE FROM unblocking WHERE id = ?", (number,)).rowcount
        self._empty_journal()
        return changed

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


def _delete(database: sqlite3.Connection, lesson: int) -> None:
    for table, column in (("links", "lesson"), ("watched", "lesson"), ("lessons", "id")):
        database.execute(f"DELETE FROM {table} WHERE {column} = ?", (lesson,))  # noqa: S608


def _piece(url: str) -> str:
    """What every spelling of an address has in it; SQLite looks for it, Python then compares."""
    return urls.parse(url).authority.removeprefix("www.")


def _is_same(one: str, other: str) -> bool:
    return urls.is_web_url(one) and urls.is_web_url(other) and same_page_key(one) == same_page_key(other)


def _without(link: LessonLink, url: str) -> LessonLink:
    """The link without what a removed page lent it."""
    if _is_same(link.target, url):
        link = replace(link, held_on="", wish="")
    if link.taken and _is_same(link.taken, url):
        link = replace(link, taken="")
    if link.found.final_url and _is_same(link.found.final_url, url):
        link = replace(link, found=replace(link.found, final_url=""))
    return replace(
        link, replacements=tuple(each for each in link.replacements if not _is_same(each.url, url))
    )


def _link_row(lesson: int | None, link: LessonLink) -> tuple[int | None, int, bool, bytes]:
    return lesson, link.number, link.found.state is CheckState.WAITING, msgspec.json.encode(link)


def _lesson(row: _Row) -> Lesson:
    number, owner, title, format_, file_name, made_at, code, page, checked_at, fault = row
    return Lesson(
        id=number,
        owner=owner,
        title=title,
        format=WorksheetFormat(format_),
        file_name=file_name,
        made_at=made_at,
        code=code,
        page=page,
        checked_at=checked_at,
        fault=fault,
    )
