"""Earlier versions of saved pages: their content before they changed, as it was sent then.

The newest version is the copy that `repair.collection.pages` stores. When the page's content changes, that copy
becomes an earlier version, unless it is too close to the one before it: a page that changes with every visit must not
push out all that is older than an hour. So versions are some time apart, and the newest is always what was seen last.

When a user read a page is private: of pages that users brought, only the day is shown, as if each had been fetched
when it began. What an admin imported or had fetched keeps its second.
"""

import sqlite3
import zlib
from dataclasses import dataclass
from datetime import UTC, datetime

from repair.collection.database import Database
from repair.model import HeldCopy
from repair.settings import CollectionSettings

DAY_S = 86_400


def shown_time_sql(column: str) -> str:
    """SQL for the time shown for a row of `copies` or `versions`, joined with `pages`; in whole seconds."""
    second = f"CAST({column} AS INTEGER)"
    return f"CASE WHEN pages.pinned THEN {second} ELSE {second} / {DAY_S} * {DAY_S} END"


def day_of(moment: datetime) -> datetime:
    """The beginning of a day."""
    return moment.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionPolicy:
    """How many versions of a page are kept, including the newest, and the least time between them."""

    limit: int = 1
    every_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldVersions:
    """When the saved versions of a page were fetched, as shown to users, oldest first; `url` is in normal form."""

    url: str
    moments: tuple[datetime, ...]


def policy_of(settings: CollectionSettings) -> VersionPolicy:
    """The policy in the settings."""
    return VersionPolicy(
        limit=settings.versions if settings.keep_copies else 0, every_s=settings.version_every_h * 3600
    )


class VersionStore:
    """Earlier versions by page, on SQLite; a version is identified by the second in which it was fetched."""

    def __init__(self, database: Database, policy: VersionPolicy) -> None:
        self._database = database
        self._policy = policy

    def keep(self, connection: sqlite3.Connection, page: int) -> None:
        """Turn a page's copy, which is about to be replaced, into an earlier version.

        Deletes the oldest beyond the limit.
        """
        values = {"page": page, "every_s": self._policy.every_s, "limit": max(0, self._policy.limit - 1)}
        connection.execute(
            "INSERT OR REPLACE INTO versions (page, fetched_at, content_type, body)"
            " SELECT page, CAST(fetched_at AS INTEGER), content_type, body FROM copies WHERE page = :page"
            " AND :limit > 0 AND fetched_at >= coalesce("
            "  (SELECT max(fetched_at) FROM versions WHERE page = :page) + :every_s, fetched_at)",
            values,
        )
        connection.execute(
            "DELETE FROM versions WHERE page = :page AND fetched_at NOT IN"
            " (SELECT fetched_at FROM versions WHERE page = :page ORDER BY fetched_at DESC LIMIT :limit)",
            values,
        )

    def remove(self, connection: sqlite3.Connection, page: int) -> None:
        """Forget all earlier versions of a page."""
        connection.execute("DELETE FROM versions WHERE page = ?", (page,))

    def coarsen(self, connection: sqlite3.Connection, page: int) -> None:
        """Keep only the day of a page's earlier versions: it is about to be pinned, and users fetched them."""
        connection.execute(
            "UPDATE OR REPLACE versions SET fetched_at = fetched_at / ?1 * ?1 WHERE page = ?2", (DAY_S, page)
        )

    def of(self, url: str) -> HeldVersions | None:
        """When the versions of a page were fetched, including the newest; None when none is saved."""
        with self._database.read() as connection:
            rows = connection.execute(_MOMENTS, {"url": url}).fetchall()
        if not rows:
            return None
        return HeldVersions(url=url, moments=tuple(datetime.fromtimestamp(at, UTC) for (at,) in rows))

    def at(self, url: str, moment: datetime) -> HeldCopy | None:
        """The version shown with exactly this time; of several of a day the newest."""
        with self._database.read() as connection:
            row = connection.execute(_VERSION, {"url": url, "second": int(moment.timestamp())}).fetchone()
        if row is None:
            return None
        return HeldCopy(
            url=url,
            content_type=row[0],
            body=zlib.decompress(row[1]),
            fetched_at=moment.replace(microsecond=0),
        )


_FROM = "FROM {0} JOIN pages ON pages.id = {0}.page JOIN urls ON urls.id = {0}.page WHERE url = :url"
_COPIES, _VERSIONS = _FROM.format("copies"), _FROM.format("versions")
_COPY_AT, _VERSION_AT = shown_time_sql("copies.fetched_at"), shown_time_sql("versions.fetched_at")
_MOMENTS = f"SELECT {_COPY_AT} {_COPIES} UNION SELECT {_VERSION_AT} {_VERSIONS} ORDER BY 1"
_VERSION = f"""SELECT content_type, body FROM (
    SELECT content_type, body, copies.fetched_at, 1 AS newest {_COPIES} AND {_COPY_AT} = :second
    UNION ALL SELECT content_type, body, versions.fetched_at, 0 {_VERSIONS} AND {_VERSION_AT} = :second
) ORDER BY newest DESC, fetched_at DESC LIMIT 1"""  # noqa: S608  (our own names)
