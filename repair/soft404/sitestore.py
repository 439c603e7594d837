"""What is known of each site's error pages, kept in SQLite: their sketches, which pages are fine, who was asked.

Several processes may use the file at once, a `kill -9` loses nothing that was committed, and each table is bounded.
Addresses are kept as digests only: which pages people insisted on seeing is nobody's business.
"""

import contextlib
import hashlib
import logging
import os
import sqlite3
import threading
import time
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

from repair.errors import CollectionError
from repair.files import is_damage, set_aside
from repair.soft404.sketch import Sketch, is_alike
from repair.urls import normal, parse, site

log = logging.getLogger(__name__)

PER_SITE = 8
MAX_ROWS = 20_000
ASK_EVERY_S = 86_400.0
"""How long a directory of a site is not asked again."""
ASKED_PER_SITE = 20
"""Directories of one site that are asked within that time: whoever leads us through them has it asked no more."""
_CHANGED = "soft404"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS prints (
    id INTEGER PRIMARY KEY AUTOINCREMENT, host TEXT NOT NULL, sketch BLOB NOT NULL, UNIQUE (host, sketch)
);
CREATE TABLE IF NOT EXISTS fine (id INTEGER PRIMARY KEY AUTOINCREMENT, url BLOB NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS asked (
    id INTEGER PRIMARY KEY AUTOINCREMENT, place BLOB NOT NULL UNIQUE, at REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS turns (
    id INTEGER PRIMARY KEY AUTOINCREMENT, site BLOB NOT NULL UNIQUE, since REAL NOT NULL, used INTEGER NOT NULL
);
"""


class Changes(Protocol):
    """How processes with the same file tell each other that something changed."""

    def stamp(self, key: str) -> int: ...

    def note(self, key: str) -> None: ...


class Sites:
    """The memory in one file. It reads and writes the disk: ask it from a thread, any thread."""

    def __init__(
        self, path: Path, *, clock: Callable[[], float] = time.time, changes: Changes | None = None
    ) -> None:
        self._path = path
        self._clock = clock
        self._changes = changes
        self._changed = 0
        self._lock = threading.Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._database = self._begun()
        except (OSError, sqlite3.Error) as error:
            raise CollectionError(f"{path}: the memory of error pages cannot be opened: {error}") from error

    def _begun(self) -> sqlite3.Connection:
        """The database; a damaged one is set aside, since it can be learnt again."""
        try:
            return self._opened()
        except sqlite3.Error as error:
            if not is_damage(error):
                raise
            return self._anew(error)

    def _anew(self, error: sqlite3.Error) -> sqlite3.Connection:
        log.error("%s was damaged (%s); it lies in %s now", self._path.name, error, set_aside(self._path))
        return self._opened()

    def _opened(self) -> sqlite3.Connection:
        os.close(os.open(self._path, os.O_WRONLY | os.O_CREAT, 0o600))
        database = sqlite3.connect(self._path, timeout=5, check_same_thread=False)
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("PRAGMA synchronous=NORMAL")
        database.executescript(_SCHEMA)
        return database

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
        host = _host(url)
        self._write(
            ("INSERT OR IGNORE INTO prints (host, sketch) VALUES (?, ?)", (host, _packed(sketch))),
            (
                "DELETE FROM prints WHERE host = ?1 AND id NOT IN"
                " (SELECT id FROM prints WHERE host = ?1 ORDER BY id DESC LIMIT ?2)",
                (host, PER_SITE),
            ),
            _bounded("prints"),
        )
        self._note_change()

    def error_pages(self, url: str) -> list[Sketch]:
        """The sketches of all error pages that are known of the site."""
        rows = self._read("SELECT sketch FROM prints WHERE host = ? LIMIT ?", (_host(url), PER_SITE))
        return [_unpacked(row[0]) for row in rows]

    def is_error_page(self, url: str, sketch: Sketch) -> bool:
        """Whether the page is one that its site is known to send for what is not there."""
        return bool(sketch) and any(is_alike(sketch, known) for known in self.error_pages(url))

    def forget(self, url: str, sketch: Sketch) -> None:
        """A reader wanted to see the page: it is fine, and pages like it are no error pages of its site."""
        alike = [known for known in self.error_pages(url) if is_alike(sketch, known)]
        host = _host(url)
        self._write(
            *(
                ("DELETE FROM prints WHERE host = ? AND sketch = ?", (host, _packed(known)))
                for known in alike
            ),
            ("INSERT OR REPLACE INTO fine (url) VALUES (?)", (_digest(url),)),
            _bounded("fine"),
        )
        self._note_change()

    def doubt(self, url: str) -> None:
        """Take back that the page is fine: from now on it is judged as any other."""
        self._write(("DELETE FROM fine WHERE url = ?", (_digest(url),)))
        self._note_change()

    def is_fine(self, url: str) -> bool:
        """Whether a reader has vouched for the page."""
        return bool(self._read("SELECT 1 FROM fine WHERE url = ?", (_digest(url),)))

    def may_ask(self, place: str) -> bool:
        """Whether it is time to ask a directory of a site again; who is told yes is the one to ask, and no other."""
        now = self._clock()
        is_its_turn = self._write(
            (
                "INSERT INTO asked (place, at) VALUES (?1, ?2)"
                " ON CONFLICT (place) DO UPDATE SET at = ?2 WHERE at < ?3 OR at > ?2",
                (_digest(place), now, now - ASK_EVERY_S),
            ),
            _bounded("asked"),
        )
        return is_its_turn > 0 and self._takes_turn(site(place), now)

    def _takes_turn(self, of_site: str, now: float) -> bool:
        """Whether a site may be asked once more within a day, and has been counted as asked."""
        taken = self._write(
            (
                "INSERT INTO turns (site, since, used) VALUES (?1, ?2, 1) ON CONFLICT (site) DO UPDATE SET"
                " used = CASE WHEN since BETWEEN ?3 AND ?2 THEN used + 1 ELSE 1 END,"
                " since = CASE WHEN since BETWEEN ?3 AND ?2 THEN since ELSE ?2 END"
                " WHERE used < ?4 OR since NOT BETWEEN ?3 AND ?2",
                (_digest(of_site), now, now - ASK_EVERY_S, ASKED_PER_SITE),
            ),
            _bounded("turns"),
        )
        return taken > 0

    def _note_change(self) -> None:
        """Once it is committed: whoever sees another stamp reads what is new."""
        self._changed += 1
        if self._changes:
            self._changes.note(_CHANGED)

    def _read(self, query: str, values: tuple[object, ...]) -> list[tuple[bytes]]:
        with self._translated():
            return self._database.execute(query, values).fetchall()

    def _write(self, *statements: tuple[str, tuple[object, ...]]) -> int:
        """Carry all of them out or none; how many rows the first one changed."""
        with self._translated(), self._database:
            changed = [self._database.execute(text, values).rowcount for text, values in statements]
        return changed[0]

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        """One at a time. Damage may show only when a page of the file is read: then the next meets a new file."""
        with self._lock:
            try:
                yield
            except sqlite3.Error as error:
                if is_damage(error):
                    self._database.close()
                    with contextlib.suppress(OSError, sqlite3.Error):
                        self._database = self._anew(error)
                raise CollectionError(f"{self._path}: {error}") from error


def _bounded(table: str) -> tuple[str, tuple[object, ...]]:
    newest = f"(SELECT max(id) FROM {table})"  # noqa: S608  (our own table names)
    return f"DELETE FROM {table} WHERE id <= {newest} - ?", (MAX_ROWS,)  # noqa: S608


def _host(url: str) -> str:
    try:
        return parse(url).authority
    except ValueError:
        return ""


def _digest(text: str) -> bytes:
    with contextlib.suppress(ValueError):
        text = normal(text)
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).digest()


def _packed(sketch: Sketch) -> bytes:
    return array("I", sketch).tobytes()


def _unpacked(blob: bytes) -> Sketch:
    return tuple(array("I", blob[: len(blob) // 4 * 4]))
