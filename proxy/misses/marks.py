"""Marks that an admin puts on missed addresses: ignored in lists, or wrongly taken for missing.

A wrong verdict is also taught to the memory of sites, so that the page is shown from the next time on.
"""

import sqlite3
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from proxy.misses.store import MissStore
from proxy.review.wanted import IGNORED
from repair.model import MissKind
from repair.soft404.sites import Sites

WRONG = "wrong"
"""The mark of an address whose page is there, though it was taken for an error page or a parked domain."""
JUDGED = frozenset({MissKind.SOFT_404, MissKind.PARKED})
"""Kinds that are our own verdict on a page, and so may be wrong."""

Mark = Literal["ignored", "wrong"]
_MAX_URL = 4_000
_MAX_BY = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Marked:
    """An address with a mark on it, and who put it there."""

    url: str
    mark: str
    by: str
    at: datetime


class Marks:
    """Marks in the miss log's database. Methods wait for the disk: call them in a thread. They raise StoreError."""

    def __init__(self, misses: MissStore, sites: Sites) -> None:
        self._misses = misses
        self._sites = sites

    def put(self, url: str, mark: Mark, by: str, at: datetime) -> None:
        """Marking twice changes nothing but the time."""
        row = (url[:_MAX_URL], mark, by[:_MAX_BY], at.timestamp())
        self._write("INSERT OR REPLACE INTO marks VALUES (?, ?, ?, ?)", row)
        if mark == WRONG:
            self._sites.forget(url, ())

    def take(self, url: str, mark: Mark) -> None:
        """Take a mark off again; from then on, the address is listed, or its page judged, as any other."""
        self._write("DELETE FROM marks WHERE mark = ? AND url = ?", (mark, url[:_MAX_URL]))
        if mark == WRONG:
            self._sites.doubt(url)

    def of(self, url: str) -> frozenset[str]:
        """The marks on an address."""
        rows = self._misses.read(
            "SELECT mark FROM marks WHERE url = ? AND mark IN (?, ?)", (url, IGNORED, WRONG)
        )
        return frozenset(str(row["mark"]) for row in rows)

    def list(self, mark: Mark, limit: int = 100, *, offset: int = 0) -> tuple[Marked, ...]:
        """Addresses with a mark, the latest first."""
        rows = self._misses.read(
            "SELECT * FROM marks WHERE mark = ? ORDER BY at DESC, url LIMIT ? OFFSET ?", (mark, limit, offset)
        )
        return tuple(
            Marked(
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
