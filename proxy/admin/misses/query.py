"""The filters of a list of missed pages, as query parameters (pure)."""

from datetime import date, datetime, time, timedelta, tzinfo
from typing import Annotated, Literal
from urllib.parse import urlencode

import msgspec
from msgspec import Meta, Struct

from proxy.misses.filters import IgnoredFilter, MissFilter, MissOutcome
from proxy.misses.lists import AddressOrder
from repair.model import MissKind

DAYS = 30
"""How far back lists go by default."""

Url = Annotated[str, Meta(min_length=1, max_length=4_000)]
_Text = Annotated[str, Meta(max_length=4_000)]
_EARLIEST, _LATEST = date(1971, 1, 1), date(9000, 1, 1)


class MissQuery(Struct, kw_only=True, frozen=True, omit_defaults=True):
    """Which misses: `days` back from now (0: all), or from `since` to `until` inclusive, in local time."""

    kind: MissKind | None = None
    outcome: MissOutcome | None = None
    site: Annotated[str, Meta(max_length=300)] = ""
    source: _Text = ""
    url: _Text = ""
    text: Annotated[str, Meta(max_length=300)] = ""
    days: Annotated[int, Meta(ge=0, le=3_660)] = DAYS
    since: date | None = None
    until: date | None = None
    shown: IgnoredFilter = IgnoredFilter.HEEDED


class PagedQuery(MissQuery, kw_only=True, frozen=True, omit_defaults=True):
    """The same filters, one page at a time."""

    limit: Annotated[int, Meta(ge=1, le=500)] = 50
    offset: Annotated[int, Meta(ge=0, le=1_000_000)] = 0


class ListQuery(PagedQuery, kw_only=True, frozen=True, omit_defaults=True):
    """The parameters of the admin page: the filters, what it groups by, and the order."""

    by: Literal["address", "source", "site", "choice", "record", "media"] = "address"
    order: AddressOrder = "times"


def filter_of(query: MissQuery, now: datetime) -> MissFilter:
    """The filter of a query; `now` is in local time."""
    zone = now.tzinfo
    since = _begins(query.since, zone) if query.since else None
    until = _begins(query.until, zone, days=1) if query.until else None
    if since is None and until is None and query.days:
        since = now - timedelta(days=query.days)
    return MissFilter(
        kind=query.kind,
        outcome=query.outcome,
        site=query.site.strip().lower().removeprefix("www."),
        source=query.source,
        url=query.url,
        text=query.text.strip(),
        since=since,
        until=until,
        shown=query.shown,
    )


def address_of(path: str, query: MissQuery, **changed: object) -> str:
    """The address of an admin page with this query, partly changed; default values are left out."""
    values = msgspec.to_builtins(msgspec.structs.replace(query, **changed))
    text = urlencode({name: str(value) for name, value in values.items() if value not in (None, "")})
    return f"{path}?{text}" if text else path


def _begins(day: date, zone: tzinfo | None, *, days: int = 0) -> datetime:
    bounded = min(max(day, _EARLIEST), _LATEST)
    return datetime.combine(bounded, time(), zone) + timedelta(days=days)
