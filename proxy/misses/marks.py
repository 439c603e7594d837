"""Marks that an admin sets on missed addresses: ignored in lists, or wrongly taken for missing.

A wrong verdict also corrects the soft-404 site store, so that users see the page from then on.
"""

import sqlite3
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from proxy.misses.filters import IGNORED
from proxy.misses.store import MissStore
from repair.soft404.sitestore import SiteStore

WRONG = "wrong"
"""The mark of an address whose page exists, though it was taken for an error page or a parked domain."""

Mark = Literal["ignored", "wrong"]
_MAX_URL = 4_000
_MAX_BY = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedAddress:
    """An address with its mark, and the admin who set it."""

    url: str
    mark: str
    by: str
    at: datetime


class AddressMarks:
    """Marks in the miss log's database. Methods wait for the disk, so call them in a thread, and raise StoreError."""

    def __init__(self, misses: MissStore, sites: SiteStore) -> None:
        self._misses = misses
        self._sites = sites

    def put(self, url: str, mark: Mark, by: str, at: datetime) -> None:
        """Set a mark; setting it again changes only the time."""
        row = (url[:_MAX_URL], mark, by[:_MAX_BY], at.timestamp())
        self._write("INSERT OR REPLACE INTO marks VALUES (?, ?, ?, ?)", row)
        if mark == WRONG:
            self._sites.vouch(url, ())

    def take(self, url: str, mark: Mark) -> None:
        """Remove a mark; from then on the address is listed, and its page judged, like any other."""
        self._write("DELETE FROM marks WHERE mark = ? AND url = ?", (mark, url[:_MAX_URL]))
        if mark == WRONG:
            self._sites.withdraw_vouch(url)

    def of(self, url: str) -> frozenset[str]:
        """The marks on an address."""
        rows = self._misses.read(
            "SELECT mark FROM marks WHERE url = ? AND mark IN (?, ?)", (url, IGNORED, WRONG)
        )
        return frozenset(str(row["mark"]) for row in rows)

    def list(self, mark: Mark, limit: int = 100, *, offset: int = 0) -> tuple[MarkedAddress, ...]:
        """Addresses with a mark, the latest first."""
        rows = self._misses.read(
            "SELECT * FROM marks WHERE mark = ? ORDER BY at DESC, url LIMIT ? OFFSET ?", (mark, limit, offset)
        )
        return tuple(
            MarkedAddress(
                url=row["url"],
                mark=row["mark"],
                by=row["by"],
                at=datetime.fromtimestamp(row["at"], UTC),
            )
            for row in rows
        )

    def _write(self, statement: str, values: tuple[object, ...]) -> None:
        def change(database: sqlite3.Connection) -> None:
            database.execute(statement, values)

        self._misses.write(change)
