"""Pages that are pending: the full-text index has still to catch up with them.

A page that is added, changed or removed is recorded here in the same transaction, so that a crash loses nothing.
The note is deleted only after the index has committed, and only if the page has not changed again meanwhile. A page
whose words changed is due at once; one that is merely linked with new words may wait a while, since a popular page
gains links all the time. A note due later than that was written while the clock was ahead, and is due now:
otherwise the page would not be found until then.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from repair.collection.database import Database

NEW_WORDS_WAIT_S = 30.0
"""How long a page linked with new words may wait; nothing is due later than that."""
_NOTES = "SELECT page, change FROM pending"
_NOT_INDEXED = "page NOT IN (SELECT page FROM vectors)"
_IN_ORDER = "ORDER BY due_at, page LIMIT ?"


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingNote:
    """A page to index again, and the change that requires it."""

    page: int
    change: int


class PendingPages:
    """The list of pages the index has to catch up with."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, pages: Iterable[int], *, due_at: float) -> None:
        """Mark pages pending, due at a Unix time; a page that is due earlier stays so."""
        with self._database.write() as connection:
            connection.execute("UPDATE meta SET value = value + 1 WHERE key = 'changes'")
            change = int(connection.execute("SELECT value FROM meta WHERE key = 'changes'").fetchone()[0])
            connection.executemany(
                "INSERT INTO pending (page, change, due_at) VALUES (?, ?, ?) ON CONFLICT (page)"
                " DO UPDATE SET change = excluded.change, due_at = min(due_at, excluded.due_at)",
                [(page, change, due_at) for page in pages],
            )

    def add_all(self) -> None:
        """Mark every saved page pending, to rebuild the index."""
        with self._database.write() as connection:
            connection.execute("UPDATE meta SET value = value + 1 WHERE key = 'changes'")
            connection.execute(
                "INSERT OR REPLACE INTO pending (page, change, due_at)"
                " SELECT id, (SELECT value FROM meta WHERE key = 'changes'), 0 FROM pages"
            )

    def due(self, *, limit: int, now: float | None, patience_s: float = 0.0) -> tuple[PendingNote, ...]:
        """The most overdue pages; with `now` as None, also those not yet due. Pages that the index has already wait
        `patience_s` longer."""
        now = math.inf if now is None else now
        with self._database.read() as connection:
            if patience_s > 0:
                rows = connection.execute(
                    f"{_NOTES} WHERE due_at <= ? AND (due_at <= ? OR {_NOT_INDEXED}) {_IN_ORDER}",
                    (now, now - patience_s, limit),
                ).fetchall()
            else:
                rows = connection.execute(f"{_NOTES} WHERE due_at <= ? {_IN_ORDER}", (now, limit)).fetchall()
            misdated = connection.execute(
                f"{_NOTES} WHERE due_at > ? {_IN_ORDER}", (now + NEW_WORDS_WAIT_S, limit - len(rows))
            ).fetchall()
        return tuple(PendingNote(page=page, change=change) for page, change in rows + misdated)

    def mark_indexed(self, notes: Iterable[PendingNote]) -> None:
        """Delete the notes of indexed pages; a page that changed since stays pending."""
        with self._database.write() as connection:
            connection.executemany(
                "DELETE FROM pending WHERE page = ? AND change = ?",
                [(note.page, note.change) for note in notes],
            )

    def count(self) -> int:
        """How many pages are pending."""
        with self._database.read() as connection:
            return int(connection.execute("SELECT count(*) FROM pending").fetchone()[0])
