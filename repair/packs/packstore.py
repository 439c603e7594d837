"""Packs that were imported, and which of them each page came from, in the collection's database."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from repair.collection.database import Database
from repair.packs.packmodel import PackOrigin
from repair.text import urls

_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS packs (id INTEGER PRIMARY KEY, title TEXT NOT NULL, sender TEXT NOT NULL,"
    " licence TEXT NOT NULL, created_at REAL NOT NULL, imported_at REAL NOT NULL,"
    " UNIQUE (title, sender, licence, created_at))",
    "CREATE TABLE IF NOT EXISTS page_packs (page INTEGER PRIMARY KEY, pack INTEGER NOT NULL,"
    " fetched_at REAL NOT NULL)",
    "CREATE TRIGGER IF NOT EXISTS page_packs_removed AFTER DELETE ON pages"
    " BEGIN DELETE FROM page_packs WHERE page = OLD.id; END",
)
_COLUMNS = "packs.title, packs.sender, packs.licence, packs.created_at"
# A page that was fetched again since is no longer the one of the pack.
_PAGES = "page_packs JOIN pages ON pages.id = page_packs.page AND pages.fetched_at = page_packs.fetched_at"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedPack:
    """A pack, when it was imported last, and how many pages are still those that came in it."""

    origin: PackOrigin
    imported_at: datetime
    pages: int


class PackStore:
    """Blocking; for any thread and any number of processes."""

    def __init__(self, database: Database, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock
        with database.write() as connection:
            for statement in _SCHEMA:
                connection.execute(statement)

    def note(self, origin: PackOrigin, addresses: Iterable[str]) -> None:
        """Record that pages, as they are saved now, came in a pack."""
        row = (origin.title, origin.sender, origin.licence, origin.created_at.timestamp())
        with self._database.write() as connection:
            (pack,) = connection.execute(
                "INSERT INTO packs (title, sender, licence, created_at, imported_at) VALUES (?, ?, ?, ?, ?)"
                " ON CONFLICT DO UPDATE SET imported_at = excluded.imported_at RETURNING id",
                (*row, self._clock()),
            ).fetchone()
            connection.executemany(
                "INSERT OR REPLACE INTO page_packs SELECT pages.id, ?, pages.fetched_at FROM urls"
                " JOIN pages USING (id) WHERE url = ?",
                [(pack, urls.normal(url)) for url in addresses],
            )
            connection.execute("DELETE FROM page_packs WHERE page NOT IN (SELECT id FROM pages)")

    def of(self, url: str) -> PackOrigin | None:
        """The pack that a saved page came in; None when it came another way."""
        with self._database.read() as connection:
            row = connection.execute(
                f"SELECT {_COLUMNS} FROM {_PAGES} JOIN packs ON packs.id = page_packs.pack"  # noqa: S608
                " JOIN urls ON urls.id = pages.id WHERE url = ?",
                (url,),
            ).fetchone()
        return _origin(row) if row else None

    def list(self) -> tuple[ImportedPack, ...]:
        """All packs, the latest import first."""
        with self._database.read() as connection:
            rows = connection.execute(
                f"SELECT {_COLUMNS}, imported_at, (SELECT count(*) FROM {_PAGES} WHERE pack = packs.id)"  # noqa: S608
                " FROM packs ORDER BY imported_at DESC, packs.id"
            ).fetchall()
        return tuple(
            ImportedPack(
                origin=_origin(row[:4]), imported_at=datetime.fromtimestamp(row[4], UTC), pages=row[5]
            )
            for row in rows
        )


def _origin(row: tuple[str, str, str, float]) -> PackOrigin:
    title, sender, licence, created_at = row
    return PackOrigin(
        title=title, sender=sender, licence=licence, created_at=datetime.fromtimestamp(created_at, UTC)
    )
