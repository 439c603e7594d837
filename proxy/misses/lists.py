"""Lists of missed pages, counted from the tallies: by address, site, source page and kind, and over time.

Every method reads the disk, for a limited time: call it in a thread.
"""

import sqlite3
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal

from proxy.misses.filters import MissFilter, MissOutcome, of_records, of_tallies
from proxy.misses.record import MissRecord, record_of
from proxy.misses.store import MissStore
from proxy.misses.tallies import NOTHING, OFFERED, OPENED, SLOT_S
from repair.model import MissKind

MAX_ROWS = 1_000
"""The longest list; use paging or the export for more."""
_TIMEOUT_S = 20.0
# Quoted, since NOTHING is a word of SQLite's.
_COUNTS = (
    f'sum(times) AS times, sum(iif(outcome = {NOTHING}, times, 0)) AS "nothing",'
    f" sum(iif(outcome = {OFFERED}, times, 0)) AS offered, sum(iif(outcome = {OPENED}, times, 0)) AS opened"
)
AddressOrder = Literal["times", "latest", "sources", "nothing"]
"""Most missed; missed last; linked from most pages; most often without suggestions: first."""
_ORDERS: dict[AddressOrder, str] = {
    "times": "times DESC, last DESC, address",
    "latest": "last DESC, times DESC, address",
    "sources": "sources DESC, times DESC, address",
    "nothing": '"nothing" DESC, times DESC, address',
}
_SUMS = 'sum(times) AS times, sum("nothing") AS "nothing", sum(offered) AS offered, sum(opened) AS opened'


@dataclass(frozen=True, slots=True, kw_only=True)
class MissTally:
    """How often something was missed: in all, with nothing offered, with an offer, with an offer that was opened."""

    times: int = 0
    nothing: int = 0
    offered: int = 0
    opened: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class MissedAddress:
    """A missed address; `kind` and `last_at` are those of the last miss, whatever the filter."""

    url: str
    site: str
    kind: MissKind
    last_at: datetime
    sources: int
    tally: MissTally


@dataclass(frozen=True, slots=True, kw_only=True)
class MissGroup:
    """A site, or a page with dead links: `addresses` counts its missed addresses, or its missed links; `guessed` when
    no browser has ever named the page."""

    name: str
    addresses: int
    tally: MissTally
    guessed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CostlyAddress:
    """A missed address and how many users missed it: a user counts once a day, as their code changes every day."""

    url: str
    users: int
    times: int
    last_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenPage:
    """What users opened in place of an address; `chosen` is the address itself for its saved copy."""

    url: str
    chosen: str
    times: int


class MissLists:
    """Lists over one miss log. Raises StoreError when a list takes too long."""

    def __init__(self, misses: MissStore) -> None:
        self._misses = misses

    def totals(self, wanted: MissFilter) -> MissGroup:
        """The totals: how many addresses, how often."""
        condition, values = of_tallies(wanted)
        row = self._query(
            f"SELECT count(*) AS addresses, {_SUMS} FROM"  # noqa: S608
            f" (SELECT {_COUNTS} FROM tallies WHERE {condition} GROUP BY address)",
            values,
        )[0]
        return MissGroup(name="", addresses=row["addresses"], tally=_tally(row))

    def addresses(
        self, wanted: MissFilter, limit: int = 50, *, offset: int = 0, order: AddressOrder = "times"
    ) -> tuple[MissedAddress, ...]:
        """Addresses in this order."""
        condition, values = of_tallies(wanted)
        by = _ORDERS[order]
        rows = self._query(
            f"WITH top AS (SELECT address, max(slot) AS last, count(DISTINCT nullif(source, 0)) AS sources,"  # noqa: S608
            f" {_COUNTS} FROM tallies WHERE {condition} GROUP BY address ORDER BY {by} LIMIT ? OFFSET ?)"
            " SELECT top.*, addresses.url, addresses.site,"
            " (SELECT at FROM misses WHERE url = addresses.url ORDER BY at DESC LIMIT 1) AS last_at,"
            " (SELECT kind FROM misses WHERE url = addresses.url ORDER BY at DESC LIMIT 1) AS last_kind"
            f" FROM top JOIN addresses ON addresses.id = address ORDER BY {by}",
            (*values, _clamp(limit), offset),
        )
        return tuple(
            MissedAddress(
                url=row["url"],
                site=row["site"],
                kind=MissKind(row["last_kind"]),
                last_at=datetime.fromtimestamp(row["last_at"], UTC),
                sources=row["sources"],
                tally=_tally(row),
            )
            for row in rows
            if row["last_at"] is not None
        )

    def sites(self, wanted: MissFilter, limit: int = 50, *, offset: int = 0) -> tuple[MissGroup, ...]:
        """Sites by how often their pages were missed."""
        condition, values = of_tallies(wanted)
        rows = self._query(
            f"SELECT site AS name, count(*) AS addresses, {_SUMS} FROM"  # noqa: S608
            f" (SELECT address, {_COUNTS} FROM tallies WHERE {condition} GROUP BY address)"
            " JOIN addresses ON addresses.id = address GROUP BY site ORDER BY times DESC, site LIMIT ? OFFSET ?",
            (*values, _clamp(limit), offset),
        )
        return tuple(_group(row) for row in rows)

    def sources(self, wanted: MissFilter, limit: int = 50, *, offset: int = 0) -> tuple[MissGroup, ...]:
        """Pages with dead links, those with the most dead links first."""
        condition, values = of_tallies(wanted)
        rows = self._query(
            f"WITH top AS (SELECT source, count(*) AS addresses, {_SUMS} FROM"  # noqa: S608
            f" (SELECT source, address, {_COUNTS} FROM tallies WHERE source != 0 AND {condition}"
            " GROUP BY source, address)"
            " GROUP BY source ORDER BY addresses DESC, times DESC, source LIMIT ? OFFSET ?)"
            " SELECT top.*, url AS name, NOT EXISTS (SELECT 1 FROM misses WHERE source_url = sources.url"
            " AND NOT source_guessed) AS guessed FROM top JOIN sources ON sources.id = source"
            " ORDER BY addresses DESC, times DESC, source",
            (*values, _clamp(limit), offset),
        )
        return tuple(replace(_group(row), guessed=bool(row["guessed"])) for row in rows)

    def kinds(self, wanted: MissFilter) -> tuple[tuple[MissKind, MissTally], ...]:
        """Kinds by how often they occurred."""
        condition, values = of_tallies(wanted)
        rows = self._query(
            f"SELECT kind, {_COUNTS} FROM tallies WHERE {condition} GROUP BY kind ORDER BY times DESC, kind",  # noqa: S608
            values,
        )
        return tuple((MissKind(row["kind"]), _tally(row)) for row in rows)

    def moments(self, wanted: MissFilter) -> tuple[tuple[datetime, MissTally], ...]:
        """Each quarter of an hour in which something was missed, the oldest first."""
        condition, values = of_tallies(wanted)
        rows = self._query(
            f"SELECT slot, {_COUNTS} FROM tallies WHERE {condition} GROUP BY slot ORDER BY slot",  # noqa: S608
            values,
        )
        return tuple((datetime.fromtimestamp(row["slot"] * SLOT_S, UTC), _tally(row)) for row in rows)

    def choices(self, wanted: MissFilter, limit: int = 50, *, offset: int = 0) -> tuple[ChosenPage, ...]:
        """What users opened in place of missed pages, the most opened first."""
        if wanted.outcome not in (None, MissOutcome.OPENED):
            return ()
        condition, values = of_records(replace(wanted, outcome=None))
        # Without the hint SQLite would read the records, which are long.
        rows = self._query(
            f"SELECT url, chosen, count(*) AS times FROM misses INDEXED BY misses_chosen"  # noqa: S608
            f" WHERE chosen IS NOT NULL AND {condition}"
            " GROUP BY url, chosen ORDER BY times DESC, url, chosen LIMIT ? OFFSET ?",
            (*values, _clamp(limit), offset),
        )
        return tuple(ChosenPage(url=row["url"], chosen=row["chosen"], times=row["times"]) for row in rows)

    def costliest(self, wanted: MissFilter, limit: int = 10) -> tuple[CostlyAddress, ...]:
        """The addresses that most users missed without opening a suggestion."""
        condition, values = of_records(wanted)
        rows = self._query(
            f"SELECT url, count(DISTINCT client) AS users, count(*) AS times, max(at) AS last_at FROM misses"  # noqa: S608
            f" WHERE chosen IS NULL AND {condition} GROUP BY url ORDER BY users DESC, times DESC, url LIMIT ?",
            (*values, _clamp(limit)),
        )
        return tuple(
            CostlyAddress(
                url=row["url"],
                users=row["users"],
                times=row["times"],
                last_at=datetime.fromtimestamp(row["last_at"], UTC),
            )
            for row in rows
        )

    def records(self, wanted: MissFilter, limit: int = 50, *, offset: int = 0) -> tuple[MissRecord, ...]:
        """Single misses, the latest first."""
        condition, values = of_records(wanted)
        rows = self._query(
            f"SELECT * FROM misses WHERE {condition} ORDER BY at DESC LIMIT ? OFFSET ?",  # noqa: S608
            (*values, _clamp(limit), offset),
        )
        return tuple(map(record_of, rows))

    def _query(self, query: str, values: tuple[object, ...]) -> list[sqlite3.Row]:
        return self._misses.read(query, values, within_s=_TIMEOUT_S)


def _tally(row: sqlite3.Row) -> MissTally:
    return MissTally(**{name: row[name] or 0 for name in ("times", "nothing", "offered", "opened")})


def _group(row: sqlite3.Row) -> MissGroup:
    return MissGroup(name=row["name"], addresses=row["addresses"], tally=_tally(row))


def _clamp(limit: int) -> int:
    return min(max(limit, 0), MAX_ROWS + 1)
