"""How much the miss log may hold: a daily share for each network, a time for each record, and a size for all."""

import sqlite3
from datetime import UTC, datetime

DAILY_SHARES = 6
"""The part of `misses.log_bytes` that a network may write in a day: some six thousand misses."""
LEAST_BYTES = 500
"""What even a short line costs in the database."""
DATABASE_BYTES = 20
"""Times `misses.log_bytes`; records take up to ten times what their lines take."""
_DROPPED_AT_ONCE = 50  # the part of all records that goes when they are too many


def drop_older(database: sqlite3.Connection, oldest: datetime) -> int:
    """Drop records from before a moment; how many misses were among them."""
    before = (oldest.timestamp(),)
    with database:
        dropped = database.execute("DELETE FROM misses WHERE at < ?", before).rowcount
        database.execute("DELETE FROM searches WHERE at < ?", before)
        database.execute("DELETE FROM dead_media WHERE last_at < ?", before)
        database.execute("DELETE FROM marks WHERE at < ? AND url NOT IN (SELECT url FROM addresses)", before)
    return dropped


def drop_oldest(database: sqlite3.Connection) -> None:
    """Drop a part of all records, the oldest."""
    with database:
        database.execute(
            "DELETE FROM misses WHERE id IN (SELECT id FROM misses ORDER BY at"
            " LIMIT 1 + (SELECT count(*) FROM misses) / ?)",
            (_DROPPED_AT_ONCE,),
        )
        database.execute(
            "DELETE FROM searches WHERE rowid IN (SELECT rowid FROM searches ORDER BY at"
            " LIMIT 1 + (SELECT count(*) FROM searches) / ?)",
            (_DROPPED_AT_ONCE,),
        )
        database.execute(
            "DELETE FROM dead_media WHERE last_at <= (SELECT last_at FROM dead_media ORDER BY last_at"
            " LIMIT 1 OFFSET (SELECT count(*) FROM dead_media) / ?)",
            (_DROPPED_AT_ONCE,),
        )


def size_of(database: sqlite3.Connection) -> int:
    """The bytes of a database that are in use."""
    pages, free, size = (
        int(database.execute(f"PRAGMA {name}").fetchone()[0])
        for name in ("page_count", "freelist_count", "page_size")
    )
    return (pages - free) * size


def sizes_since(database: sqlite3.Connection, now: datetime) -> list[tuple[str, int]]:
    """Roughly how many bytes each client has written since midnight (UTC)."""
    midnight = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return database.execute(
        "SELECT client, sum(max(?, 300 + length(url) + coalesce(length(source_url), 0) + length(offered)"
        " + length(query))) FROM misses WHERE at >= ? GROUP BY client",
        (LEAST_BYTES, midnight.timestamp()),
    ).fetchall()
