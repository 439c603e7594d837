"""Admission of requests to archives: applies `ratelimits` to the state in the file that all processes share."""

import sqlite3
from collections.abc import Callable

from repair.memento import ratelimits
from repair.memento.database import ArchiveDatabase
from repair.memento.ratelimits import ArchiveState


class ArchiveAdmission:
    """Admits requests and records how they went. Every method blocks briefly."""

    def __init__(self, database: ArchiveDatabase, clock: Callable[[], float]) -> None:
        self._database = database
        self._clock = clock

    def take(self, archive: str, kind: str, per_minute: int, *, trial_s: float) -> float | None:
        """Ask to send one request: 0 when admitted, else the seconds to wait; None while the archive is paused.

        Each `kind` of request has its own rate limit. `trial_s` is how long a trial after a pause may take.
        """
        now = self._clock()
        with self._database.write() as connection:
            health = _read_health(connection, archive)
            if not ratelimits.is_available(health, now):
                return None
            found = connection.execute(
                "SELECT due_at FROM paces WHERE archive = ? AND kind = ?", (archive, kind)
            ).fetchone()
            wait_s, due_at = ratelimits.next_slot(found[0] if found else 0.0, now, per_minute)
            if wait_s == 0.0:
                connection.execute("INSERT OR REPLACE INTO paces VALUES (?, ?, ?)", (archive, kind, due_at))
                _write_health(connection, archive, ratelimits.note_request(health, now, trial_s))
            return wait_s

    def note_success(self, archive: str) -> None:
        """The archive answered properly, whatever the content."""
        if self.health(archive) != ArchiveState():
            with self._database.write() as connection:
                connection.execute("DELETE FROM healths WHERE archive = ?", (archive,))

    def end_trial(self, archive: str, trial_s: float) -> None:
        """A trial after a pause got an answer; once that is parsed, success or failure is recorded separately."""
        if self.health(archive).rests_until == 0.0:
            return
        with self._database.write() as connection:
            connection.execute(
                "UPDATE healths SET rests_until = 0 WHERE archive = ? AND rests_until <= ?",
                (archive, self._clock() + trial_s),
            )

    def note_failure(self, archive: str) -> None:
        """The archive's answer was late or broken."""
        with self._database.write() as connection:
            _write_health(
                connection, archive, ratelimits.note_failure(_read_health(connection, archive), self._clock())
            )

    def note_refusal(self, archive: str, retry_after_s: float | None) -> None:
        """The archive refused the request (429, 503)."""
        now = self._clock()
        with self._database.write() as connection:
            _write_health(
                connection,
                archive,
                ratelimits.note_refusal(_read_health(connection, archive), now, retry_after_s),
            )

    def health(self, archive: str) -> ArchiveState:
        """The stored state of an archive."""
        rows = self._database.read(
            "SELECT failures, rests_until, rest_s FROM healths WHERE archive = ?", archive
        )
        return (
            ArchiveState(failures=rows[0][0], rests_until=rows[0][1], rest_s=rows[0][2])
            if rows
            else ArchiveState()
        )


def _read_health(connection: sqlite3.Connection, archive: str) -> ArchiveState:
    row = connection.execute(
        "SELECT failures, rests_until, rest_s FROM healths WHERE archive = ?", (archive,)
    ).fetchone()
    return ArchiveState(failures=row[0], rests_until=row[1], rest_s=row[2]) if row else ArchiveState()


def _write_health(connection: sqlite3.Connection, archive: str, health: ArchiveState) -> None:
    connection.execute(
        "INSERT OR REPLACE INTO healths VALUES (?, ?, ?, ?)",
        (archive, health.failures, health.rests_until, health.rest_s),
    )
