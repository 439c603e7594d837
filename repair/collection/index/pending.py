"""Which pages the full-text index has still to catch up with.

A page that is added, changed or removed is noted here in the same transaction, so nothing is forgotten
whoever dies when. The index is told, commits, and only then is the note struck out, and only if the page has
not changed again meanwhile. A page whose words changed is due at once; one that is merely linked with
new words may wait a while, since a popular page gains links all the time. What is due later than that was noted
when the clock was ahead, and is due now: else it would not be found until that moment comes.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from repair.database import Database

NEW_WORDS_WAIT_S = 30.0
"""How long a page may wait that is linked with new words; nothing is due later than that."""
_NOTES = "SELECT page, change FROM pending"
_IN_ORDER = "ORDER BY due_at, page LIMIT ?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A page to be indexed again, and the change that asked for it."""

    page: int
    change: int


class Pending:
    """The list of pages the index has to catch up with."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, pages: Iterable[int], *, due_at: float) -> None:
        """Note pages, due at a Unix time; a page that was due earlier stays so."""
        with self._database.write() as connection:
            connection.execute("UPDATE meta SET value = value + 1 WHERE key = 'changes'")
            change = int(connection.execute("SELECT value FROM meta WHERE key = 'changes'").fetchone()[0])
            connection.executemany(
                "INSERT INTO pending (page, change, due_at) VALUES (?, ?, ?) ON CONFLICT (page)"
                " DO UPDATE SET change = excluded.change, due_at = min(due_at, excluded.due_at)",
                [(page, change, due_at) for page in pages],
            )

    def add_all(self) -> None:
        """Note every held page: the index is to be made anew."""
        with self._database.write() as connection:
            connection.execute("UPDATE meta SET value = value + 1 WHERE key = 'changes'")
            connection.execute(
                "INSERT OR REPLACE INTO pending (page, change, due_at)"
                " SELECT id, (SELECT value FROM meta WHERE key = 'changes'), 0 FROM pages"
            )

    def due(self, *, limit: int, now: float | None) -> tuple[Note, ...]:
        """The pages most overdue; with `now` as None, also those that are not due yet."""
        now = math.inf if now is None else now
        with self._database.read() as connection:
            rows = connection.execute(f"{_NOTES} WHERE due_at <= ? {_IN_ORDER}", (now, limit)).fetchall()
            misdated = connection.execute(
                f"{_NOTES} WHERE due_at > ? {_IN_ORDER}", (now + NEW_WORDS_WAIT_S, limit - len(rows))
            ).fetchall()
        return tuple(Note(page=page, change=change) for page, change in rows + misdated)

    def done(self, notes: Iterable[Note]) -> None:
        """Strike out what the index now has; a page that changed since stays noted."""
        with self._database.write() as connection:
            connection.executemany(
                "DELETE FROM pending WHERE page = ? AND change = ?",
                [(note.page, note.change) for note in notes],
            )

    def count(self) -> int:
        """How many pages wait."""
        with self._database.read() as connection:
            return int(connection.execute("SELECT count(*) FROM pending").fetchone()[0])
