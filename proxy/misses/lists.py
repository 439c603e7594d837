"""Lists of what was missed, counted from the tallies: by address, site, source page and kind, and over time.

Every method reads the disk, for no longer than a few seconds: call it in a thread.
"""

import sqlite3
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from proxy.misses.record import MissRecord, record_of
from proxy.misses.store import MissStore
from proxy.misses.tallies import NOTHING, OFFERED, OPENED, SLOT_S
from proxy.review.wanted import Outcome, Wanted, of_records, of_tallies
from repair.model import MissKind

MAX_ROWS = 1_000
"""No list is longer; who wants more turns the page, or exports."""
_WITHIN_S = 20.0
# Quoted, since NOTHING is a word of SQLite's.
_COUNTS = (
    f'sum(times) AS times, sum(iif(outcome = {NOTHING}, times, 0)) AS "nothing",'
    f" sum(iif(outcome = {OFFERED}, times, 0)) AS offered, sum(iif(outcome = {OPENED}, times, 0)) AS opened"
)
_SUMS = 'sum(times) AS times, sum("nothing") AS "nothing", sum(offered) AS offered, sum(opened) AS opened'


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """How often something was missed, and how often nothing could be offered, something was, and was opened."""

    times: int = 0
    nothing: int = 0
    offered: int = 0
    opened: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class MissedAddress:
    """An address that was missed; `kind` and `last_at` are those of the last time, whatever is wanted."""

    url: str
    site: str
    kind: MissKind
    last_at: datetime
    sources: int
    tally: Tally


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A site, or a page with dead links: `addresses` is how many of its addresses, or of its links, were missed."""

    name: str
    addresses: int
    tally: Tally


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """What readers opened in the place of an address; `chosen` is the address itself for its held copy."""

    url: str
    chosen: str
    times: int


class Lists:
    """Lists over one miss log. Raises StoreError when a list takes too long."""

    def __init__(self, misses: MissStore) -> None:
        self._misses = misses

    def totals(self, wanted: Wanted) -> Group:
        """All of it: how many addresses, how often."""
        condition, values = of_tallies(wanted)
        row = self._read(
            f"SELECT count(*) AS addresses, {_SUMS} FROM"  # noqa: S608
            f" (SELECT {_COUNTS} FROM tallies WHERE {condition} GROUP BY address)",
            values,
        )[0]
        return Group(name="", addresses=row["addresses"], tally=_tally(row))

    def addresses(
        self, wanted: Wanted, limit: int = 50, *, offset: int = 0, latest: bool = False
    ) -> tuple[MissedAddress, ...]:
        """The most missed first, or what was missed latest."""
        condition, values = of_tallies(wanted)
        order = "last DESC, times DESC, address" if latest else "times DESC, last DESC, address"
        rows = self._read(
            f"WITH top AS (SELECT address, max(slot) AS last, count(DISTINCT nullif(source, 0)) AS sources,"  # noqa: S608
            f" {_COUNTS} FROM tallies WHERE {condition} GROUP BY address ORDER BY {order} LIMIT ? OFFSET ?)"
            " SELECT top.*, addresses.url, addresses.site,"
            " (SELECT at FROM misses WHERE url = addresses.url ORDER BY at DESC LIMIT 1) AS last_at,"
            " (SELECT kind FROM misses WHERE url = addresses.url ORDER BY at DESC LIMIT 1) AS last_kind"
            f" FROM top JOIN addresses ON addresses.id = address ORDER BY {order}",
            (*values, _bounded(limit), offset),
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

    def sites(self, wanted: Wanted, limit: int = 50, *, offset: int = 0) -> tuple[Group, ...]:
        """Sites by how often their pages were missed."""
        condition, values = of_tallies(wanted)
        rows = self._read(
            f"SELECT site AS name, count(*) AS addresses, {_SUMS} FROM"  # noqa: S608
            f" (SELECT address, {_COUNTS} FROM tallies WHERE {condition} GROUP BY address)"
            " JOIN addresses ON addresses.id = address GROUP BY site ORDER BY times DESC, site LIMIT ? OFFSET ?",
            (*values, _bounded(limit), offset),
        )
        return tuple(_group(row) for row in rows)

    def sources(self, wanted: Wanted, limit: int = 50, *, offset: int = 0) -> tuple[Group, ...]:
        """Pages with dead links, those with the most dead links first."""
        condition, values = of_tallies(wanted)
        rows = self._read(
            f"WITH top AS (SELECT source, count(*) AS addresses, {_SUMS} FROM"  # noqa: S608
            f" (SELECT source, address, {_COUNTS} FROM tallies WHERE source != 0 AND {condition}"
            " GROUP BY source, address)"
            " GROUP BY source ORDER BY addresses DESC, times DESC, source LIMIT ? OFFSET ?)"
            " SELECT top.*, url AS name FROM top JOIN sources ON sources.id = source"
            " ORDER BY addresses DESC, times DESC, source",
            (*values, _bounded(limit), offset),
        )
        return tuple(_group(row) for row in rows)

    def kinds(self, wanted: Wanted) -> tuple[tuple[MissKind, Tally], ...]:
        """Kinds by how often they occurred."""
        condition, values = of_tallies(wanted)
        rows = self._read(
            f"SELECT kind, {_COUNTS} FROM tallies WHERE {condition} GROUP BY kind ORDER BY times DESC, kind",  # noqa: S608
            values,
        )
        return tuple((MissKind(row["kind"]), _tally(row)) for row in rows)

    def moments(self, wanted: Wanted) -> tuple[tuple[datetime, Tally], ...]:
        """Each quarter of an hour in which something was missed, the oldest first."""
        condition, values = of_tallies(wanted)
        rows = self._read(
            f"SELECT slot, {_COUNTS} FROM tallies WHERE {condition} GROUP BY slot ORDER BY slot",  # noqa: S608
            values,
        )
        return tuple((datetime.fromtimestamp(row["slot"] * SLOT_S, UTC), _tally(row)) for row in rows)

    def choices(self, wanted: Wanted, limit: int = 50, *, offset: int = 0) -> tuple[Chosen, ...]:
        """What readers opened in the place of what they missed, the most opened first."""
        if wanted.outcome not in (None, Outcome.OPENED):
            return ()
        condition, values = of_records(replace(wanted, outcome=None))
        # Left to itself, SQLite would read the records, which are long.
        rows = self._read(
            f"SELECT url, chosen, count(*) AS times FROM misses INDEXED BY misses_chosen"  # noqa: S608
            f" WHERE chosen IS NOT NULL AND {condition}"
            " GROUP BY url, chosen ORDER BY times DESC, url, chosen LIMIT ? OFFSET ?",
            (*values, _bounded(limit), offset),
        )
        return tuple(Chosen(url=row["url"], chosen=row["chosen"], times=row["times"]) for row in rows)

    def records(self, wanted: Wanted, limit: int = 50, *, offset: int = 0) -> tuple[MissRecord, ...]:
        """Single misses, the latest first."""
        condition, values = of_records(wanted)
        rows = self._read(
            f"SELECT * FROM misses WHERE {condition} ORDER BY at DESC LIMIT ? OFFSET ?",  # noqa: S608
            (*values, _bounded(limit), offset),
        )
        return tuple(map(record_of, rows))

    def _read(self, query: str, values: tuple[object, ...]) -> list[sqlite3.Row]:
        return self._misses.read(query, values, within_s=_WITHIN_S)


def _tally(row: sqlite3.Row) -> Tally:
    return Tally(**{name: row[name] or 0 for name in ("times", "nothing", "offered", "opened")})


def _group(row: sqlite3.Row) -> Group:
    return Group(name=row["name"], addresses=row["addresses"], tally=_tally(row))


def _bounded(limit: int) -> int:
    return min(max(limit, 0), MAX_ROWS + 1)
