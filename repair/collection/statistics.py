"""What a collection is made of, in figures: pages by day and by language, the latest ones, and what is known of one.

For people who look after it; nothing here is needed to repair a link. All methods block, from any thread.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from repair.database import Database

# Counting by the pages themselves would read all of their text.
_SCHEMA = "CREATE INDEX IF NOT EXISTS pages_census ON pages (fetched_at, language, pinned)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A held page in a list."""

    url: str
    title: str
    language: str
    fetched_at: datetime
    pinned: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is known of one held page besides what it says; sizes are bytes as they are kept, packed or not."""

    seen_at: datetime
    text_bytes: int
    copy_bytes: int
    older_bytes: int
    links_in: int
    links_out: int


class Census:
    """Figures of a collection."""

    def __init__(self, database: Database) -> None:
        self._database = database
        with database.write() as connection:
            connection.execute(_SCHEMA)

    def days(self, offset_s: int, since: datetime) -> tuple[tuple[str, int], ...]:
        """How many held pages were fetched on which day (YYYY-MM-DD), days `offset_s` east of UTC, oldest first."""
        with self._database.read() as connection:
            return tuple(
                connection.execute(
                    "SELECT date(fetched_at + ?, 'unixepoch') AS day, count(*) FROM pages WHERE fetched_at >= ?"
                    " GROUP BY day ORDER BY day",
                    (offset_s, since.timestamp()),
                )
            )

    def languages(self) -> tuple[tuple[str, int], ...]:
        """How many pages are in which language, the most first; "" where that is not known."""
        with self._database.read() as connection:
            return tuple(
                connection.execute(
                    "SELECT language, count(*) AS pages FROM pages INDEXED BY pages_census"
                    " GROUP BY language ORDER BY pages DESC, language"
                )
            )

    def latest(self, limit: int, *, offset: int = 0, pinned: bool = False) -> tuple[Listed, ...]:
        """The pages fetched last, the latest first; with `pinned` only those that are kept for good."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT id FROM pages INDEXED BY pages_census WHERE pinned >= ? ORDER BY fetched_at DESC, id DESC"
                " LIMIT ? OFFSET ?",
                (int(pinned), limit, offset),
            ).fetchall()
            return self._listed([number for (number,) in rows])

    def facts(self, url: str) -> Facts | None:
        """What is known of a page by its URL in normal form; None when it is not held."""
        with self._database.read() as connection:
            row = connection.execute(
                "SELECT seen_at, length(CAST(text AS BLOB)),"
                " (SELECT coalesce(sum(length(body)), 0) FROM copies WHERE page = id),"
                " (SELECT coalesce(sum(length(body)), 0) FROM versions WHERE page = id),"
                " (SELECT count(*) FROM links WHERE target = id), (SELECT count(*) FROM links WHERE source = id)"
                " FROM urls JOIN pages USING (id) WHERE url = ?",
                (url,),
            ).fetchone()
        if row is None:
            return None
        return Facts(
            seen_at=_moment(row[0]),
            text_bytes=row[1],
            copy_bytes=row[2],
            older_bytes=row[3],
            links_in=row[4],
            links_out=row[5],
        )

    def _listed(self, pages: Sequence[int]) -> tuple[Listed, ...]:
        found = {}
        with self._database.read() as connection:
            for page in pages:
                row = connection.execute(
                    "SELECT url, title, language, fetched_at, pinned FROM pages JOIN urls USING (id) WHERE id = ?",
                    (page,),
                ).fetchone()
                if row is not None:
                    found[page] = Listed(
                        url=row[0],
                        title=row[1],
                        language=row[2],
                        fetched_at=_moment(row[3]),
                        pinned=bool(row[4]),
                    )
        return tuple(found.values())


def _moment(timestamp: float) -> datetime:
    return datetime.fromtimestamp(timestamp, UTC)
