"""Statistics of a collection: pages by day and by language, the latest pages, and the facts of one page.

They are for admins; repairing a link needs none of them. All methods block and may be called from any thread.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from repair.collection.database import Database

# Without this index, counting would read the text of every page.
CENSUS = "CREATE INDEX IF NOT EXISTS pages_census ON pages (fetched_at, language, pinned)"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedPage:
    """A saved page in a list."""

    url: str
    title: str
    language: str
    fetched_at: datetime
    pinned: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFacts:
    """Facts of one saved page besides its content; sizes are bytes as stored, compressed or not."""

    seen_at: datetime
    text_bytes: int
    copy_bytes: int
    older_bytes: int
    links_in: int
    links_out: int


class CollectionStatistics:
    """Statistics of a collection."""

    def __init__(self, database: Database) -> None:
        self._database = database
        with database.write() as connection:
            connection.execute(CENSUS)

    def days(self, offset_s: int, since: datetime) -> tuple[tuple[str, int], ...]:
        """Pages fetched per day (YYYY-MM-DD), oldest first; a day begins `offset_s` seconds east of UTC."""
        with self._database.read() as connection:
            return tuple(
                connection.execute(
                    "SELECT date(fetched_at + ?, 'unixepoch') AS day, count(*) FROM pages WHERE fetched_at >= ?"
                    " GROUP BY day ORDER BY day",
                    (offset_s, since.timestamp()),
                )
            )

    def languages(self) -> tuple[tuple[str, int], ...]:
        """Pages per language, the most common first; "" where the language is unknown."""
        with self._database.read() as connection:
            return tuple(
                connection.execute(
                    "SELECT language, count(*) AS pages FROM pages INDEXED BY pages_census"
                    " GROUP BY language ORDER BY pages DESC, language"
                )
            )

    def latest(self, limit: int, *, offset: int = 0, pinned: bool = False) -> tuple[ListedPage, ...]:
        """The pages fetched last, the latest first; with `pinned` only pinned ones."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT id FROM pages INDEXED BY pages_census WHERE pinned >= ? ORDER BY fetched_at DESC, id DESC"
                " LIMIT ? OFFSET ?",
                (int(pinned), limit, offset),
            ).fetchall()
            return self._list_pages([number for (number,) in rows])

    def facts(self, url: str) -> PageFacts | None:
        """The facts of a page by its normal URL; None when it is not saved."""
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
        return PageFacts(
            seen_at=_to_datetime(row[0]),
            text_bytes=row[1],
            copy_bytes=row[2],
            older_bytes=row[3],
            links_in=row[4],
            links_out=row[5],
        )

    def _list_pages(self, pages: Sequence[int]) -> tuple[ListedPage, ...]:
        found = {}
        with self._database.read() as connection:
            for page in pages:
                row = connection.execute(
                    "SELECT url, title, language, fetched_at, pinned FROM pages JOIN urls USING (id) WHERE id = ?",
                    (page,),
                ).fetchone()
                if row is not None:
                    found[page] = ListedPage(
                        url=row[0],
                        title=row[1],
                        language=row[2],
                        fetched_at=_to_datetime(row[3]),
                        pinned=bool(row[4]),
                    )
        return tuple(found.values())


def _to_datetime(timestamp: float) -> datetime:
    return datetime.fromtimestamp(timestamp, UTC)
