"""The spool: what of a store the district has still to hear of, in a table beside it, in the store's own file.

Triggers note a change in the transaction that makes it, so that a killed process forgets none, and the stores need
not know. A row names what changed; what it is now is looked up when it is sent (`told`). Rows that were sent stay for
a day: a standby that takes over may not have heard of the last of them, and gets them again.

    noted ──► sent ──(a day)──► deleted
      ▲         │ the district knows less than we sent: its primary was replaced
      └─────────┘

What is gone here keeps only its digest once it was sent: an erased address does not linger.
"""

import sqlite3
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from proxy.district.told import KINDS, TOLD, Body, ToldKind, digest
from repair.sqlite import SqliteFile, transaction

_KEPT_S = 86_400.0
_MAX_ROWS = 300_000
_TABLES = (
    "CREATE TABLE IF NOT EXISTS district_spool (change INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL,"
    " key TEXT NOT NULL, sent_at REAL, UNIQUE (kind, key))",
    "CREATE INDEX IF NOT EXISTS district_spool_due ON district_spool (change) WHERE sent_at IS NULL",
    "CREATE TABLE IF NOT EXISTS district_spool_name (name TEXT NOT NULL)",
)
# Two statements: in a trigger, OR REPLACE gives way to what the statement that fired it says of conflicts.
_NOTE = (
    "DELETE FROM district_spool WHERE kind = '{kind}' AND key = {key};"
    " INSERT INTO district_spool (kind, key) VALUES ('{kind}', {key});"
)
_GONE = "#"  # before the digest of a key whose state is gone, once that was sent


@dataclass(frozen=True, slots=True, kw_only=True)
class SpoolRow:
    """One thing to tell: the state of `key` now, or that it is gone, when `body` is None."""

    change: int
    kind: str
    key: str
    digest: bytes
    body: Body | None


class DistrictSpool:
    """The spool of one store's file. Each call opens the file: the store may have set it aside, and begun another."""

    def __init__(self, file: Path, kinds: Sequence[ToldKind], *, few: int = 3) -> None:
        """Of what fewer than `few` readers missed nothing is told."""
        self.file = file
        self._kinds = kinds
        self._few = few

    def open(self) -> None:
        """Note changes from now on, and all that is there already; what is noted already is left as it is."""
        with self._connected() as connection:
            if connection is None or not self._unwatched(connection):
                return
            with transaction(connection):
                for statement in _TABLES:
                    connection.execute(statement)
                if connection.execute("SELECT 1 FROM district_spool_name").fetchone() is None:
                    connection.execute("INSERT INTO district_spool_name VALUES (?)", (str(uuid.uuid4()),))
                for told in self._unwatched(connection):
                    self._watch(connection, told)

    def close(self) -> None:
        """Note no more changes, and forget those that were not sent."""
        with self._connected() as connection:
            if connection is None:
                return
            with transaction(connection):
                for name in self._triggers(connection):
                    connection.execute(f"DROP TRIGGER {name}")
                for table in ("district_spool", "district_spool_name"):
                    connection.execute(f"DROP TABLE IF EXISTS {table}")

    def name(self) -> str:
        """What tells this spool from every other, also from those of an earlier file; "" while it is closed."""
        with self._connected() as connection:
            if connection is None or not self._has_triggers(connection):
                return ""
            return str(connection.execute("SELECT name FROM district_spool_name").fetchone()[0])

    def batch(self, limit: int) -> tuple[SpoolRow, ...]:
        """The oldest changes that were not sent, with the state of each as it is now."""
        with self._connected() as connection:
            if connection is None or not self._has_triggers(connection):
                return ()
            rows = connection.execute(
                "SELECT change, kind, key FROM district_spool WHERE sent_at IS NULL ORDER BY change LIMIT ?",
                (limit,),
            ).fetchall()
            return tuple(self._row(connection, *row) for row in rows)

    def mark_sent(self, rows: Iterable[SpoolRow]) -> None:
        """Note that rows were sent; what changed again since then is another change."""
        now = time.time()
        with self._connected() as connection:
            if connection is not None and self._has_triggers(connection):
                with transaction(connection):
                    connection.executemany(
                        "UPDATE OR REPLACE district_spool SET sent_at = ?, key = ? WHERE change = ?",
                        [
                            (now, row.key if row.body else _GONE + row.digest.hex(), row.change)
                            for row in rows
                        ],
                    )
                    connection.execute("DELETE FROM district_spool WHERE sent_at < ?", (now - _KEPT_S,))

    def last_sent(self) -> int:
        """The number of the latest change that was sent and is still here; 0 for none."""
        with self._connected() as connection:
            if connection is None or not self._has_triggers(connection):
                return 0
            row = connection.execute(
                "SELECT max(change) FROM district_spool WHERE sent_at IS NOT NULL"
            ).fetchone()
            return int(row[0] or 0)

    def send_again(self, after: int) -> None:
        """Send again what was sent after a change: the district does not know of it."""
        with self._connected() as connection:
            if connection is not None and self._has_triggers(connection):
                connection.execute("UPDATE district_spool SET sent_at = NULL WHERE change > ?", (after,))

    def trim(self) -> int:
        """Drop the oldest of too many rows; returns how many."""
        with self._connected() as connection:
            if connection is None or not self._has_triggers(connection):
                return 0
            return connection.execute(
                "DELETE FROM district_spool WHERE change IN (SELECT change FROM district_spool ORDER BY"
                " sent_at IS NULL, change LIMIT max(0, (SELECT count(*) FROM district_spool) - ?))",
                (_MAX_ROWS,),
            ).rowcount

    def count(self) -> int:
        """How many changes wait."""
        with self._connected() as connection:
            if connection is None or not self._has_triggers(connection):
                return 0
            found = connection.execute("SELECT count(*) FROM district_spool WHERE sent_at IS NULL").fetchone()
            return int(found[0])

    def _row(self, connection: sqlite3.Connection, change: int, kind: str, key: str) -> SpoolRow:
        if key.startswith(_GONE):
            return SpoolRow(change=change, kind=kind, key=key, digest=bytes.fromhex(key[1:]), body=None)
        body = KINDS[kind].state(connection, key, self._few)
        return SpoolRow(change=change, kind=kind, key=key, digest=digest(kind, key), body=body)

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection | None]:
        if not self.file.is_file():
            yield None
            return
        # What is deleted is overwritten, as in the stores themselves.
        with closing(SqliteFile(path=self.file, busy_s=30.0).connect()) as connection:
            yield connection

    def _watch(self, connection: sqlite3.Connection, told: ToldKind) -> None:
        for event, row in (("INSERT", "new"), ("UPDATE", "new"), ("DELETE", "old")):
            note = _NOTE.format(kind=told.kind, key=told.key.format(row=row))
            connection.execute(
                f"CREATE TRIGGER district_{told.kind}_{event.lower()} AFTER {event} ON {told.table}"
                f" WHEN {told.when.format(row=row)} BEGIN {note} END"
            )
        key, when = (part.format(row=told.table) for part in (told.key, told.when))
        connection.execute(
            f"INSERT OR IGNORE INTO district_spool (kind, key) SELECT DISTINCT '{told.kind}', {key}"  # noqa: S608
            f" FROM {told.table} WHERE {when}"
        )

    def _unwatched(self, connection: sqlite3.Connection) -> list[ToldKind]:
        """Kinds whose table is there by now, and whose changes are not noted yet."""
        names = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
        return [
            told
            for told in self._kinds
            if told.table in names and f"district_{told.kind}_insert" not in names
        ]

    def _triggers(self, connection: sqlite3.Connection) -> list[str]:
        named = "SELECT name FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'district~_%' ESCAPE '~'"
        return [str(row[0]) for row in connection.execute(named)]

    def _has_triggers(self, connection: sqlite3.Connection) -> bool:
        return bool(self._triggers(connection))


def spools(data: Path, *, few: int = 3) -> tuple[DistrictSpool, ...]:
    """The spools of a data folder, one for each file with something to tell."""
    return tuple(DistrictSpool(data / file, kinds, few=few) for file, kinds in TOLD.items())
