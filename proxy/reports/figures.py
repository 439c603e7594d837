"""The figures of a report, read from the stores. Every function reads the disk.

A report is for people who may not read the log. So it names no user, and no address, page or topic that only a few
users missed: these are counted in the totals alone. A user is a code of the log, which changes every day.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from proxy.fetching.entries import FetchState
from proxy.fetching.queue import FetchQueue
from proxy.misses.filters import MissFilter, of_records
from proxy.misses.lists import MissLists, MissTally
from proxy.misses.record import site_of
from proxy.misses.store import MissStore
from proxy.misses.tallies import OPENED, outcome
from proxy.reports.period import ReportPeriod
from proxy.reports.wantedtopics import VainSearch, WantedTopic, group_searches
from proxy.rules.domains import DomainList, normal_host
from repair.collection.database import Database

_MOST_ROWS = 20
_MOST_SEARCHES = 3_000
_WITHIN_S = 60.0
_MAX_FETCHES = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRow:
    """A network, a site, an address, or a page with dead links; `opened` counts suggestions that were opened."""

    name: str
    users: int
    times: int
    opened: int
    addresses: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchFigures:
    """Pages that the fetch queue dealt with in the period, and those that wait now."""

    done: int
    failed: int
    waiting: int
    received_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedFigures:
    """Pages of the collection: new or changed in the period, and in all."""

    fresh: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SchoolReport:
    """All that a report shows. `few` is the number of users below which nothing is listed."""

    period: ReportPeriod
    few: int
    missed: MissTally
    missed_addresses: int
    users: int
    networks: tuple[ReportRow, ...]
    sites: tuple[ReportRow, ...]
    addresses: tuple[ReportRow, ...]
    own_pages: tuple[ReportRow, ...]
    topics: tuple[WantedTopic, ...]
    fetched: FetchFigures | None
    saved: SavedFigures | None


def report_on(
    period: ReportPeriod, misses: MissStore, data: Path, *, few: int, own_sites: Sequence[str]
) -> SchoolReport:
    """The report on a period. Without `own_sites` every page with dead links counts as the school's own."""
    wanted = MissFilter(since=period.since, until=period.until)
    totals = MissLists(misses).totals(wanted)
    return SchoolReport(
        period=period,
        few=few,
        missed=totals.tally,
        missed_addresses=totals.addresses,
        users=_users(misses, wanted),
        networks=_rows(misses, wanted, "network", few),
        sites=_rows(misses, wanted, "site", few),
        addresses=_rows(misses, wanted, "url", few),
        own_pages=_own_pages(misses, wanted, few, own_sites),
        topics=_topics(misses, wanted, few),
        fetched=_fetched(data, period),
        saved=_saved(data, period),
    )


def _users(misses: MissStore, wanted: MissFilter) -> int:
    condition, values = of_records(wanted)
    query = f"SELECT count(DISTINCT client) AS users FROM misses WHERE {condition}"  # noqa: S608  (our own names)
    return int(misses.read(query, values, within_s=_WITHIN_S)[0]["users"])


def _rows(
    misses: MissStore, wanted: MissFilter, column: str, few: int, *, limit: int = _MOST_ROWS
) -> tuple[ReportRow, ...]:
    """What most users missed, by a column of the log."""
    condition, values = of_records(wanted)
    rows = misses.read(
        f"SELECT {column} AS name, count(DISTINCT client) AS users, count(*) AS times,"  # noqa: S608
        " sum(chosen IS NOT NULL) AS opened, count(DISTINCT url) AS addresses FROM misses"
        f" WHERE {column} IS NOT NULL AND {column} != '' AND {condition} GROUP BY 1 HAVING users >= ?"
        " ORDER BY users DESC, times DESC, name LIMIT ?",
        (*values, few, limit),
        within_s=_WITHIN_S,
    )
    return tuple(ReportRow(**dict(row)) for row in rows)


def _own_pages(
    misses: MissStore, wanted: MissFilter, few: int, own_sites: Sequence[str]
) -> tuple[ReportRow, ...]:
    if not own_sites:
        return _rows(misses, wanted, "source_url", few)
    own = DomainList(frozenset(f".{normal_host(site.lstrip('.'))}" for site in own_sites))
    rows = _rows(misses, wanted, "source_url", few, limit=_MOST_SEARCHES)
    return tuple(row for row in rows if own.entry_for(site_of(row.name)))[:_MOST_ROWS]


def _topics(misses: MissStore, wanted: MissFilter, few: int) -> tuple[WantedTopic, ...]:
    """What users looked for and did not find: nothing was offered, or nobody opened what was."""
    condition, values = of_records(wanted)
    rows = misses.read(
        f"SELECT query, count(*) AS times, group_concat(DISTINCT client) AS users FROM misses"  # noqa: S608
        f" WHERE query != '' AND {outcome('misses')} != {OPENED} AND {condition}"
        " GROUP BY query ORDER BY times DESC, query LIMIT ?",
        (*values, _MOST_SEARCHES),
        within_s=_WITHIN_S,
    )
    searches = (
        VainSearch(words=row["query"], users=frozenset((row["users"] or "").split(",")), times=row["times"])
        for row in rows
    )
    return group_searches(searches, few=few)[:_MOST_ROWS]


def _fetched(data: Path, period: ReportPeriod) -> FetchFigures | None:
    path = data / "fetch" / "queue.sqlite"
    if not path.exists():
        return None
    queue = FetchQueue(path)
    try:
        entries = queue.list(_MAX_FETCHES)
    finally:
        queue.close()
    ended = [entry for entry in entries if period.since <= entry.changed_at < period.until]
    done = [entry for entry in ended if entry.state is FetchState.DONE]
    return FetchFigures(
        done=len(done),
        failed=sum(entry.state in (FetchState.FAILED, FetchState.REFUSED) for entry in ended),
        waiting=sum(entry.state is FetchState.WAITING for entry in entries),
        received_bytes=sum(entry.received_bytes for entry in done),
    )


def _saved(data: Path, period: ReportPeriod) -> SavedFigures | None:
    path = data / "collection" / "collection.sqlite3"
    if not path.exists():
        return None
    database = Database(path)
    try:
        with database.read() as connection:
            fresh, total = connection.execute(
                "SELECT coalesce(sum(fetched_at >= ? AND fetched_at < ?), 0), count(*) FROM pages",
                (period.since.timestamp(), period.until.timestamp()),
            ).fetchone()
    finally:
        database.close()
    return SavedFigures(fresh=fresh, total=total)
