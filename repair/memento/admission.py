"""Whose turn it is to ask an archive: the decisions of `limits`, taken on the file that all processes share."""

import sqlite3
from collections.abc import Callable

from repair.memento import limits
from repair.memento.database import Notebook
from repair.memento.limits import Health


class Turns:
    """Leave to ask, and notes of how it went. Every method blocks for a moment."""

    def __init__(self, notebook: Notebook, clock: Callable[[], float]) -> None:
        self._notebook = notebook
        self._clock = clock

    def take(self, archive: str, kind: str, per_minute: int, *, trial_s: float) -> float | None:
        """Leave to send one request: 0 when it was given, else how long to wait and ask again; None while it rests.

        Requests of each `kind` have a pace of their own. `trial_s` is how long a trial after a rest may take.
        """
        now = self._clock()
        with self._notebook.write() as connection:
            health = _health(connection, archive)
            if not limits.may_ask(health, now):
                return None
            found = connection.execute(
                "SELECT due_at FROM paces WHERE archive = ? AND kind = ?", (archive, kind)
            ).fetchone()
            wait_s, due_at = limits.paced(found[0] if found else 0.0, now, per_minute)
            if wait_s == 0.0:
                connection.execute("INSERT OR REPLACE INTO paces VALUES (?, ?, ?)", (archive, kind, due_at))
                _note(connection, archive, limits.asked(health, now, trial_s))
            return wait_s

    def succeeded(self, archive: str) -> None:
        """The archive answered as it should, whatever it said."""
        if self.health(archive) != Health():
            with self._notebook.write() as connection:
                connection.execute("DELETE FROM healths WHERE archive = ?", (archive,))

    def trial_over(self, archive: str, trial_s: float) -> None:
        """A trial after a rest got through; whether the answer is a good one is noted when it has been read."""
        if self.health(archive).rests_until == 0.0:
            return
        with self._notebook.write() as connection:
            connection.execute(
                "UPDATE healths SET rests_until = 0 WHERE archive = ? AND rests_until <= ?",
                (archive, self._clock() + trial_s),
            )

    def failed(self, archive: str) -> None:
        """Its answer was late or broken."""
        with self._notebook.write() as connection:
            _note(connection, archive, limits.failed(_health(connection, archive), self._clock()))

    def refused(self, archive: str, retry_after_s: float | None) -> None:
        """It wants to be left alone (429, 503)."""
        now = self._clock()
        with self._notebook.write() as connection:
            _note(connection, archive, limits.refused(_health(connection, archive), now, retry_after_s))

    def health(self, archive: str) -> Health:
        """How an archive fares."""
        rows = self._notebook.read(
            "SELECT failures, rests_until, rest_s FROM healths WHERE archive = ?", archive
        )
        return Health(failures=rows[0][0], rests_until=rows[0][1], rest_s=rows[0][2]) if rows else Health()


def _health(connection: sqlite3.Connection, archive: str) -> Health:
    row = connection.execute(
        "SELECT failures, rests_until, rest_s FROM healths WHERE archive = ?", (archive,)
    ).fetchone()
    return Health(failures=row[0], rests_until=row[1], rest_s=row[2]) if row else Health()


def _note(connection: sqlite3.Connection, archive: str, health: Health) -> None:
    connection.execute(
        "INSERT OR REPLACE INTO healths VALUES (?, ?, ?, ?)",
        (archive, health.failures, health.rests_until, health.rest_s),
    )
