"""Pages that the district has still to hear of: new, changed or removed, whoever saved them.

A trigger notes a page in the transaction that saves it, so that a killed process forgets none, and harvest, crawls
and imports need not know. A page that changes ten times while the line is down is sent once. Pages dropped for want
of space are not noted: the district keeps them.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from repair.collection.database import Database

# Two statements: in a trigger, OR REPLACE gives way to what the statement that fired it says of conflicts.
_CHANGED = (
    "DELETE FROM outbox WHERE page = NEW.id;"
    " INSERT INTO outbox (page, url) SELECT id, url FROM urls WHERE id = NEW.id;"
)
_SCHEMA = (
    "CREATE TABLE outbox (change INTEGER PRIMARY KEY AUTOINCREMENT, page INTEGER NOT NULL UNIQUE, url TEXT NOT NULL,"
    " removed INTEGER NOT NULL DEFAULT 0)",
    f"CREATE TRIGGER outbox_new AFTER INSERT ON pages BEGIN {_CHANGED} END",
    "CREATE TRIGGER outbox_changed AFTER UPDATE OF raw_digest, digest ON pages"
    f" WHEN OLD.digest != NEW.digest OR OLD.raw_digest != NEW.raw_digest BEGIN {_CHANGED} END",
    "INSERT INTO outbox (page, url) SELECT id, url FROM pages JOIN urls USING (id) ORDER BY id",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxRow:
    """A page to send, or to bury when it was `removed`."""

    change: int
    page: int
    url: str
    removed: bool


class DistrictOutbox:
    """The outbox in a collection's database; closed, which notes nothing, until the school joins a district."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def is_open(self) -> bool:
        """Whether changes are noted."""
        with self._database.read() as connection:
            found = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'outbox'").fetchone()
        return found is not None

    def open(self) -> None:
        """Note changes from now on, and every page that is saved already; nothing when it is open."""
        with self._database.write() as connection:
            if not self.is_open():
                for statement in _SCHEMA:
                    connection.execute(statement)

    def close(self) -> None:
        """Note no more changes, and forget those that were not sent."""
        with self._database.write() as connection:
            for kind, name in (("TRIGGER", "outbox_new"), ("TRIGGER", "outbox_changed"), ("TABLE", "outbox")):
                connection.execute(f"DROP {kind} IF EXISTS {name}")

    def note_removed(self, page: int, url: str) -> None:
        """Note that a page was removed for good; part of the caller's transaction."""
        if self.is_open():
            with self._database.write() as connection:
                connection.execute(
                    "INSERT OR REPLACE INTO outbox (page, url, removed) VALUES (?, ?, 1)", (page, url)
                )

    def batch(self, limit: int) -> tuple[OutboxRow, ...]:
        """The oldest changes."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT change, page, url, removed FROM outbox ORDER BY change LIMIT ?", (limit,)
            ).fetchall()
        return tuple(OutboxRow(change=row[0], page=row[1], url=row[2], removed=bool(row[3])) for row in rows)

    def mark_sent(self, rows: Iterable[OutboxRow]) -> None:
        """Forget changes that were sent; what changed again since then is another change."""
        with self._database.write() as connection:
            connection.executemany("DELETE FROM outbox WHERE change = ?", [(row.change,) for row in rows])

    def count(self) -> int:
        """How many pages wait."""
        with self._database.read() as connection:
            return (
                int(connection.execute("SELECT count(*) FROM outbox").fetchone()[0]) if self.is_open() else 0
            )
