"""The filter of a list, a chart or an export of misses, and its SQL conditions (pure)."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from math import ceil

from proxy.misses.tallies import NOTHING, OFFERED, OPENED, SLOT_S, outcome
from repair.model import MissKind


class MissOutcome(StrEnum):
    """The outcome of a miss: nothing was offered; an offer was not opened; an offer was opened."""

    NOTHING = "nothing"
    OFFERED = "offered"
    OPENED = "opened"


class IgnoredFilter(StrEnum):
    """Whether ignored addresses are left out, shown alone, or shown among the others."""

    HEEDED = "heeded"
    IGNORED = "ignored"
    ALL = "all"


OUTCOMES = {MissOutcome.NOTHING: NOTHING, MissOutcome.OFFERED: OFFERED, MissOutcome.OPENED: OPENED}
IGNORED = "ignored"
"""The mark of an address that the admin does not want to see in lists."""

Condition = tuple[str, tuple[object, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class MissFilter:
    """Empty fields do not filter. `since` is inclusive, `until` exclusive; `text` is part of an address.

    Lists and charts round times to quarters of an hour.
    """

    kind: MissKind | None = None
    outcome: MissOutcome | None = None
    site: str = ""
    source: str = ""
    url: str = ""
    text: str = ""
    since: datetime | None = None
    until: datetime | None = None
    shown: IgnoredFilter = IgnoredFilter.HEEDED


def of_tallies(wanted: MissFilter) -> Condition:
    """The condition on rows of `tallies`."""
    return _join(
        ("kind = ?", wanted.kind),
        ("outcome = ?", wanted.outcome and OUTCOMES[wanted.outcome]),
        ("slot >= ?", wanted.since and int(wanted.since.timestamp() // SLOT_S)),
        ("slot < ?", wanted.until and ceil(wanted.until.timestamp() / SLOT_S)),
        ("address IN (SELECT id FROM addresses WHERE site = ?)", wanted.site or None),
        ("address = (SELECT id FROM addresses WHERE url = ?)", wanted.url or None),
        (r"address IN (SELECT id FROM addresses WHERE url LIKE ? ESCAPE '\')", _part(wanted.text)),
        ("source != 0 AND source = (SELECT id FROM sources WHERE url = ?)", wanted.source or None),
        (_OF_TALLIES[wanted.shown], IGNORED),
    )


def of_records(wanted: MissFilter) -> Condition:
    """The condition on rows of `misses`."""
    return _join(
        ("kind = ?", wanted.kind),
        (f"{outcome('misses')} = ?", wanted.outcome and OUTCOMES[wanted.outcome]),
        ("at >= ?", wanted.since and wanted.since.timestamp()),
        ("at < ?", wanted.until and wanted.until.timestamp()),
        ("site = ?", wanted.site or None),
        ("url = ?", wanted.url or None),
        (r"url IN (SELECT url FROM addresses WHERE url LIKE ? ESCAPE '\')", _part(wanted.text)),
        ("source_url = ?", wanted.source or None),
        (_OF_RECORDS[wanted.shown], IGNORED),
    )


_OF_TALLIES = {
    IgnoredFilter.HEEDED: "address NOT IN (SELECT id FROM marks JOIN addresses USING (url) WHERE mark = ?)",
    IgnoredFilter.IGNORED: "address IN (SELECT id FROM marks JOIN addresses USING (url) WHERE mark = ?)",
    IgnoredFilter.ALL: "? IS NOT NULL",
}
_OF_RECORDS = {
    IgnoredFilter.HEEDED: "url NOT IN (SELECT url FROM marks WHERE mark = ?)",
    IgnoredFilter.IGNORED: "url IN (SELECT url FROM marks WHERE mark = ?)",
    IgnoredFilter.ALL: "? IS NOT NULL",
}


def _part(text: str) -> str | None:
    if not text:
        return None
    escaped = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{escaped}%"


def _join(*conditions: tuple[str, object]) -> Condition:
    """All conditions with a value, joined by AND."""
    given = [(text, value) for text, value in conditions if value is not None]
    return " AND ".join(text for text, _ in given), tuple(value for _, value in given)
