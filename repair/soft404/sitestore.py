"""What is known of each site's error pages, in SQLite: their sketches, which pages are fine, which sites were probed.

Several processes may use the file at once, a `kill -9` loses nothing that was committed, and each table is bounded.
Addresses are kept as digests only: which pages people insisted on seeing is nobody's business.
"""

import contextlib
import hashlib
import sqlite3
import threading
import time
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

from repair.errors import CollectionError
from repair.files import is_damage
from repair.soft404.sketch import Sketch, is_alike
from repair.sqlite import SqliteFile, transaction
from repair.text.urls import normal, parse, site

PER_SITE = 8
"""Error pages of one host."""
PER_DOMAIN = 200
"""Error pages of all hosts under one registrable domain, of which its owner can make any number."""
MAX_ROWS = 20_000
LEAST_SCHOOLS = 2
"""So many other schools must know an error page before it counts here."""
ASK_EVERY_S = 86_400.0
"""How long a directory of a site is not probed again."""
ASKED_PER_SITE = 20
"""Directories of one site that are probed within that time, so that nobody can make us probe a site often."""
_CHANGED = "soft404"
_Statement = tuple[str, tuple[object, ...] | dict[str, object]]
_SCHEMA = """
CREATE TABLE IF NOT EXISTS prints (
    id INTEGER PRIMARY KEY AUTOINCREMENT, host TEXT NOT NULL, sketch BLOB NOT NULL, domain TEXT NOT NULL DEFAULT '',
    UNIQUE (host, sketch)
);
CREATE TABLE IF NOT EXISTS fine (id INTEGER PRIMARY KEY AUTOINCREMENT, url BLOB NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS asked (
    id INTEGER PRIMARY KEY AUTOINCREMENT, place BLOB NOT NULL UNIQUE, at REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS turns (
    id INTEGER PRIMARY KEY AUTOINCREMENT, site BLOB NOT NULL UNIQUE, since REAL NOT NULL, used INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS reported (
    id INTEGER PRIMARY KEY AUTOINCREMENT, school INTEGER NOT NULL, key BLOB NOT NULL, host TEXT NOT NULL,
    sketch BLOB NOT NULL, UNIQUE (school, key)
);
CREATE INDEX IF NOT EXISTS reported_host ON reported (host);
"""
_DROP_REPORTED = (
    "DELETE FROM reported WHERE id IN (SELECT id FROM reported WHERE school ="
    " (SELECT school FROM reported GROUP BY school ORDER BY count(*) DESC LIMIT 1)"
    " ORDER BY id LIMIT max(0, (SELECT count(*) FROM reported) - ?))",
    (MAX_ROWS,),
)
_DOMAIN = "ALTER TABLE prints ADD COLUMN domain TEXT NOT NULL DEFAULT ''"
_LATEST = (
    "DELETE FROM prints WHERE {0} = :{0} AND id NOT IN"
    " (SELECT id FROM prints WHERE {0} = :{0} ORDER BY id DESC LIMIT :most)"
)


class SiteChanges(Protocol):
    """How processes with the same file tell each other that something changed."""

    def stamp(self, key: str) -> int: ...

    def note(self, key: str) -> None: ...


class SiteStore:
    """The memory in one file. It reads and writes the disk: ask it from a thread, any thread."""

    def __init__(
        self, path: Path, *, clock: Callable[[], float] = time.time, changes: SiteChanges | None = None
    ) -> None:
        self._path = path
        self._clock = clock
        self._changes = changes
        self._changed = 0
        self._lock = threading.Lock()
        self._file = SqliteFile(path=path, schema=_SCHEMA, busy_s=5.0)
        try:
            self._database = self._file.open_or_replace()
            if "domain" not in {row[1] for row in self._database.execute("PRAGMA table_info(prints)")}:
                self._database.execute(_DOMAIN)  # a file of an earlier version
        except (OSError, sqlite3.Error) as error:
            raise CollectionError(f"{path}: cannot open the database of error pages: {error}") from error

    def close(self) -> None:
        with self._lock:
            self._database.close()

    def stamp(self) -> tuple[int, int]:
        """Another one whenever something was learnt or forgotten, here or in another process. Takes no time."""
        return self._changed, self._changes.stamp(_CHANGED) if self._changes else 0

    def remember(self, url: str, sketch: Sketch) -> None:
        """This is an error page of the site that `url` belongs to."""
        if not sketch or self.is_error_page(url, sketch):
            return
        host, domain = _host(url), site(url)
        self._write(
            (
                "INSERT OR IGNORE INTO prints (host, sketch, domain) VALUES (?, ?, ?)",
                (host, _pack(sketch), domain),
            ),
            (_LATEST.format("host"), {"host": host, "most": PER_SITE}),
            (_LATEST.format("domain"), {"domain": domain, "most": PER_DOMAIN}),
            _drop_oldest("prints"),
        )
        self._note_change()

    def error_pages(self, url: str) -> list[Sketch]:
        """The sketches of all error pages that are known of the site."""
        host = _host(url)
        rows = self._read(
            "SELECT sketch FROM prints WHERE host = ?1 UNION SELECT sketch FROM reported WHERE host = ?1"
            " GROUP BY sketch HAVING count(DISTINCT school) >= ?2 LIMIT ?3",
            (host, LEAST_SCHOOLS, 2 * PER_SITE),
        )
        return [unpack(row[0]) for row in rows]

    def is_error_page(self, url: str, sketch: Sketch) -> bool:
        """Whether the page is one that its site is known to send for what is not there."""
        return bool(sketch) and any(is_alike(sketch, known) for known in self.error_pages(url))

    def note_reported(self, school: int, key: bytes, host: str, sketch: Sketch) -> None:
        """What another school knows as an error page of a host; an empty sketch withdraws what it called `key`.

        It counts once several schools say the same: one alone could hide a good page from all others. When there
        are too many, the school that has said most loses its oldest.
        """
        forget = ("DELETE FROM reported WHERE school = ? AND key = ?", (school, key))
        if not sketch:
            changed = self._write(forget)
        else:
            insert = "INSERT INTO reported (school, key, host, sketch) VALUES (?, ?, ?, ?)"
            changed = 1
            self._write(forget, (insert, (school, key, host, _pack(sketch))), _DROP_REPORTED)
        if changed:
            self._note_change()

    def forget_reported(self) -> None:
        """Forget what other schools reported."""
        if self._write(("DELETE FROM reported", ())):
            self._note_change()

    def vouch(self, url: str, sketch: Sketch) -> None:
        """A user wanted to see the page: it is fine, and pages like it are no error pages of its site."""
        alike = [known for known in self.error_pages(url) if is_alike(sketch, known)]
        host = _host(url)
        self._write(
            *(
                (f"DELETE FROM {table} WHERE host = ? AND sketch = ?", (host, _pack(known)))  # noqa: S608
                for known in alike
                for table in ("prints", "reported")
            ),
            ("INSERT OR REPLACE INTO fine (url) VALUES (?)", (_digest(url),)),
            _drop_oldest("fine"),
        )
        self._note_change()

    def withdraw_vouch(self, url: str) -> None:
        """Take back that the page is fine: from now on it is judged as any other."""
        self._write(("DELETE FROM fine WHERE url = ?", (_digest(url),)))
        self._note_change()

    def is_fine(self, url: str) -> bool:
        """Whether a user has vouched for the page."""
        return bool(self._read("SELECT 1 FROM fine WHERE url = ?", (_digest(url),)))

    def claim_probe(self, place: str) -> bool:
        """Whether it is time to probe a directory of a site again; True for one caller only, which then probes it."""
        now = self._clock()
        is_its_turn = self._write(
            (
                "INSERT INTO asked (place, at) VALUES (:place, :now)"
                " ON CONFLICT (place) DO UPDATE SET at = :now WHERE at < :since OR at > :now",
                {"place": _digest(place), "now": now, "since": now - ASK_EVERY_S},
            ),
            _drop_oldest("asked"),
        )
        return is_its_turn > 0 and self._takes_turn(site(place), now)

    def _takes_turn(self, of_site: str, now: float) -> bool:
        """Count a probe of a site; returns whether it was still allowed today."""
        taken = self._write(
            (
                "INSERT INTO turns (site, since, used) VALUES (:site, :now, 1) ON CONFLICT (site) DO UPDATE SET"
                " used = CASE WHEN since BETWEEN :then AND :now THEN used + 1 ELSE 1 END,"
                " since = CASE WHEN since BETWEEN :then AND :now THEN since ELSE :now END"
                " WHERE used < :most OR since NOT BETWEEN :then AND :now",
                {"site": _digest(of_site), "now": now, "then": now - ASK_EVERY_S, "most": ASKED_PER_SITE},
            ),
            _drop_oldest("turns"),
        )
        return taken > 0

    def _note_change(self) -> None:
        """After the commit: processes that see another stamp read the new rows."""
        self._changed += 1
        if self._changes:
            self._changes.note(_CHANGED)

    def _read(self, query: str, values: tuple[object, ...]) -> list[tuple[bytes]]:
        with self._translate_errors():
            return self._database.execute(query, values).fetchall()

    def _write(self, *statements: _Statement) -> int:
        """Carry all of them out or none; how many rows the first one changed."""
        with self._translate_errors(), transaction(self._database):
            changed = [self._database.execute(text, values).rowcount for text, values in statements]
        return changed[0]

    @contextlib.contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """One at a time. Damage may show only when a page of the file is read: then the next meets a new file."""
        with self._lock:
            try:
                yield
            except sqlite3.Error as error:
                if is_damage(error):
                    self._database.close()
                    with contextlib.suppress(OSError, sqlite3.Error):
                        self._database = self._file.replace(error)
                raise CollectionError(f"{self._path}: {error}") from error


def _drop_oldest(table: str) -> _Statement:
    """Counts rows instead of comparing ids, because the limits per domain leave gaps in the ids."""
    first = f"(SELECT id FROM {table} ORDER BY id DESC LIMIT 1 OFFSET ?)"  # noqa: S608  (our own table names)
    return f"DELETE FROM {table} WHERE id <= {first}", (MAX_ROWS,)  # noqa: S608


def _host(url: str) -> str:
    try:
        return parse(url).authority
    except ValueError:
        return ""


def _digest(text: str) -> bytes:
    with contextlib.suppress(ValueError):
        text = normal(text)
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).digest()


def _pack(sketch: Sketch) -> bytes:
    return array("I", sketch).tobytes()


def unpack(blob: bytes) -> Sketch:
    """A sketch as it is stored."""
    return tuple(array("I", blob[: len(blob) // 4 * 4]))
