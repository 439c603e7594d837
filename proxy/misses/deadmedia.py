"""Pictures, sounds and videos that are gone, with the page that shows them.

Nothing is put in their place, since only pages are ever rewritten. One row stands for one file on one page, however
many users met it; who they were is not noted.
"""

import sqlite3
from dataclasses import dataclass
from datetime import UTC, datetime
from math import inf

from proxy.misses.store import MissStore

_MAX_LISTED = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadMedium:
    """One file that is gone; `page` is "" when nothing says which page shows it."""

    url: str
    page: str
    medium: str
    times: int
    last_at: datetime


def dead_media(
    misses: MissStore, *, since: datetime | None, until: datetime | None = None, limit: int, offset: int = 0
) -> tuple[DeadMedium, ...]:
    """What is gone, page by page, those met last first. It reads the disk."""
    rows = misses.read(
        "SELECT url, page, medium, times, last_at, max(last_at) OVER (PARTITION BY page) AS latest FROM dead_media"
        " WHERE last_at >= ? AND last_at < ? ORDER BY latest DESC, page, last_at DESC, url LIMIT ? OFFSET ?",
        (
            since.timestamp() if since else 0.0,
            until.timestamp() if until else inf,
            min(limit, _MAX_LISTED),
            offset,
        ),
    )
    return tuple(map(_medium_of, rows))


def _medium_of(row: sqlite3.Row) -> DeadMedium:
    at = datetime.fromtimestamp(row["last_at"], UTC)
    return DeadMedium(url=row["url"], page=row["page"], medium=row["medium"], times=row["times"], last_at=at)
