"""Pins: the page that an admin chose as the replacement of a missing URL, in the collection's database.

A pin applies to every spelling of the URL that leads to the same page: http or https, with `www.` or without,
with a slash at its end or without. Its target need not be saved, nor reachable: the admin answers for it.
"""

from dataclasses import dataclass
from datetime import UTC, datetime

from repair.collection.database import Database
from repair.text import urls

REASON = "pinned"
"""The reason code of an alternative that was pinned."""
DISTRICT_REASON = "pinned_district"
"""The reason code of one that an admin of the district pinned for all its schools."""

_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS pins (key TEXT PRIMARY KEY, url TEXT NOT NULL, target TEXT NOT NULL,"
    " by TEXT NOT NULL, at REAL NOT NULL) WITHOUT ROWID"
)
_SELECT = "SELECT url, target, by, at FROM pins "
_MAX_BY = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """`target` replaces `url`, both in normal form; `by` is who pinned it."""

    url: str
    target: str
    by: str
    at: datetime


class Pins:
    """Pins in the collection's database; methods block, from any thread, in any number of processes."""

    def __init__(self, database: Database) -> None:
        self._database = database
        with database.write() as connection:
            connection.execute(_SCHEMA)

    def pin(self, url: str, target: str, by: str, at: datetime) -> Pin:
        """Offer `target` first for `url` from now on, replacing an earlier pin.

        ValueError when one of them is no web URL, or both are the same.
        """
        pin = Pin(url=urls.normal(url), target=urls.normal(target), by=by[:_MAX_BY], at=at)
        key = same_page_key(pin.url)
        if key == same_page_key(pin.target):
            raise ValueError(f"a page cannot replace itself: {pin.url[:200]}")
        with self._database.write() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO pins VALUES (?, ?, ?, ?, ?)",
                (key, pin.url, pin.target, pin.by, pin.at.timestamp()),
            )
        return pin

    def of(self, url: str) -> Pin | None:
        """The pin that applies to a URL, however it is written."""
        if not urls.is_web_url(url):
            return None
        with self._database.read() as connection:
            row = connection.execute(_SELECT + "WHERE key = ?", (same_page_key(url),)).fetchone()
        return _pin(row) if row else None

    def forget(self, url: str) -> bool:
        """Unpin a URL; returns whether it was pinned."""
        if not urls.is_web_url(url):
            return False
        with self._database.write() as connection:
            gone = connection.execute("DELETE FROM pins WHERE key = ?", (same_page_key(url),)).rowcount
        return gone > 0

    def list(self, limit: int = 100, *, offset: int = 0) -> tuple[Pin, ...]:
        """Pins, the latest first."""
        with self._database.read() as connection:
            rows = connection.execute(_SELECT + "ORDER BY at DESC, key LIMIT ? OFFSET ?", (limit, offset))
            return tuple(map(_pin, rows))

    def count(self) -> int:
        with self._database.read() as connection:
            return int(connection.execute("SELECT COUNT(*) FROM pins").fetchone()[0])


def same_page_key(url: str) -> str:
    """What all spellings of a URL have in common; ValueError when it is no web URL.

    >>> same_page_key("https://www.school.test/lesson/") == same_page_key("http://school.test:80/lesson")
    True
    """
    parts = urls.parse(url)
    query = f"?{parts.query}" if parts.query else ""
    return f"{parts.authority.removeprefix('www.')}{parts.path.rstrip('/')}{query}"


def _pin(row: tuple[str, str, str, float]) -> Pin:
    url, target, by, at = row
    return Pin(url=url, target=target, by=by, at=datetime.fromtimestamp(at, UTC))
