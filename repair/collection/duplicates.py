"""Near-duplicates of a page among the saved ones: fingerprints in the database, verified by exact measures.

Fingerprints are made in the background, in batches (`catch_up`), from the title and the beginning of the text.
"""

import sqlite3
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile

from repair.collection.database import Database
from repair.text import words
from repair.text.fingerprints import NEAR, Fingerprints, dice, fingerprint, vector

ALIKE = 0.7
"""The least Dice coefficient of a near-duplicate."""
_CHARACTERS = 20_000
_SLICE = 200
_MADE_KEY = "fingerprints_made"  # a counter that tells all processes of new fingerprints
_NO_FINGERPRINT = 0  # stored for pages too short to have a fingerprint; no text has this one

# Both indexes avoid reading the long rows of `pages`: one finds pages without a fingerprint, the other has all
# fingerprints.
_SCHEMA = (
    "CREATE INDEX IF NOT EXISTS pages_unprinted ON pages (id) WHERE simhash IS NULL",
    "CREATE INDEX IF NOT EXISTS pages_simhash ON pages (simhash, id) WHERE simhash IS NOT NULL",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Duplicate:
    """A saved page that says nearly the same; `dice` is 1 for identical term counts."""

    page: int
    url: str
    dice: float


class Duplicates:
    """Near-duplicates among the pages of a collection; thread-safe."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known = Fingerprints()
        self._known_at = ""
        self._lock = threading.Lock()
        with database.write() as connection:
            for statement in _SCHEMA:
                connection.execute(statement)

    def catch_up(self, limit: int = _SLICE, *, is_hurried: Callable[[], bool] = lambda: False) -> int:
        """Make fingerprints of pages that have none; returns how many were made.

        Stops when `is_hurried`, called before each page, says that more urgent work waits.
        """
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT id, digest, title, substr(text, 1, ?), language FROM pages WHERE simhash IS NULL LIMIT ?",
                (_CHARACTERS, limit),
            ).fetchall()
        calm = takewhile(lambda row: not is_hurried(), rows)
        made = [(page, digest, _fingerprint_of(*content)) for page, digest, *content in calm]
        if made:
            self._store(made)
        return len(made)

    def _store(self, made: Sequence[tuple[int, bytes, int]]) -> None:
        signed = [(_to_signed(value), page, digest) for page, digest, value in made]
        with self._database.write() as connection:
            # A page saved again meanwhile may say something else by now.
            connection.executemany(
                "UPDATE pages SET simhash = ? WHERE id = ? AND digest IS ? AND simhash IS NULL", signed
            )
            before = _times_made(connection)
            connection.execute(
                "INSERT INTO meta VALUES (?, '1') ON CONFLICT (key) DO UPDATE SET value = value + 1",
                (_MADE_KEY,),
            )
            after = _times_made(connection)
        made_now = Fingerprints((page, value) for page, _, value in made if value != _NO_FINGERPRINT)
        with self._lock:
            if before == self._known_at:  # no other process made any: no need to read all of them again
                self._known, self._known_at = self._known.merge(made_now), after

    def of(self, title: str, text: str, language: str = "", *, alike: float = ALIKE) -> tuple[Duplicate, ...]:
        """Saved pages that say nearly the same as a text, the most similar first."""
        terms = _terms(title, text, language)
        wanted = fingerprint(terms)
        if wanted is None:
            return ()
        near = self._load_fingerprints().near(wanted, within=NEAR)
        mine = vector(terms)
        found = [
            Duplicate(page=page, url=url, dice=dice(mine, vector(_terms(*content))))
            for page, url, *content in self._texts([page for page, _ in near])
        ]
        return tuple(
            sorted((each for each in found if each.dice >= alike), key=lambda each: (-each.dice, each.url))
        )

    def of_page(self, url: str, *, alike: float = ALIKE) -> tuple[Duplicate, ...]:
        """The near-duplicates of a saved page, without itself."""
        with self._database.read() as connection:
            row = connection.execute(
                "SELECT title, substr(text, 1, ?), language FROM urls JOIN pages USING (id) WHERE url = ?",
                (_CHARACTERS, url),
            ).fetchone()
        return tuple(each for each in self.of(*row, alike=alike) if each.url != url) if row else ()

    def fingerprints(self, pages: Sequence[int]) -> dict[int, int]:
        """The fingerprints of those of some pages that have one."""
        marks = ",".join("?" * len(pages))
        query = f"SELECT id, simhash FROM pages WHERE id IN ({marks}) AND simhash <> {_NO_FINGERPRINT}"  # noqa: S608
        with self._database.read() as connection:
            return {page: _to_unsigned(value) for page, value in connection.execute(query, pages)}

    def _load_fingerprints(self) -> Fingerprints:
        """All fingerprints, read again when a process has made more."""
        with self._lock, self._database.read() as connection:
            made = _times_made(connection)
            if made != self._known_at:
                rows = connection.execute("SELECT id, simhash FROM pages WHERE simhash IS NOT NULL")
                self._known = Fingerprints(
                    (page, _to_unsigned(value)) for page, value in rows if value != _NO_FINGERPRINT
                )
                self._known_at = made
            return self._known

    def _texts(self, pages: Sequence[int]) -> list[tuple[int, str, str, str, str]]:
        marks = ",".join("?" * len(pages))
        query = (
            f"SELECT id, url, title, substr(text, 1, {_CHARACTERS}), language FROM pages JOIN urls USING (id)"  # noqa: S608
        )
        with self._database.read() as connection:
            return _rows(connection.execute(f"{query} WHERE id IN ({marks})", pages))


def _times_made(connection: sqlite3.Connection) -> str:
    """How often fingerprints were made; "" for never."""
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (_MADE_KEY,)).fetchone()
    return str(row[0]) if row is not None else ""


def _rows(cursor: sqlite3.Cursor) -> list[tuple[int, str, str, str, str]]:
    return cursor.fetchall()


def _terms(title: str, text: str, language: str) -> list[str]:
    return words.terms(f"{title} \n{text[:_CHARACTERS]}", language)


def _fingerprint_of(title: str, text: str, language: str) -> int:
    found = fingerprint(_terms(title, text, language))
    return _NO_FINGERPRINT if found is None else found


def _to_signed(value: int) -> int:
    """To the signed integers that SQLite stores."""
    return value - 2**64 if value >= 2**63 else value


def _to_unsigned(value: int) -> int:
    return value % 2**64
