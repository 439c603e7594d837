"""Missed pages as the desk's templates show them: names for kinds, charts, addresses made fit for eyes (pure)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

from markupsafe import Markup

from proxy.desk.charts import Chart, Column, Series, meter
from proxy.pages.display import Address, address, clean, link_target
from proxy.review.lists import Tally
from proxy.review.trend import Bar, step_for, trend
from proxy.review.wanted import Wanted
from repair.model import MissKind

ADDRESS_PATH = "/admin/misses/address"
LIST_PATH = "/admin/misses"
KINDS = {
    MissKind.NOT_FOUND: "Not found",
    MissKind.GONE: "Gone for good",
    MissKind.SOFT_404: "Error page sent as a page",
    MissKind.UNREACHABLE: "Site cannot be reached",
    MissKind.TIMEOUT: "Too slow",
    MissKind.TLS: "Not safe to open",
    MissKind.SERVER_ERROR: "Site has a problem",
    MissKind.OFFLINE: "No connection",
    MissKind.PARKED: "Domain for sale",
}
SERIES = (
    Series(name="opened an offer", tone="tone0"),
    Series(name="offered, none opened", tone="tone3"),
    Series(name="nothing to offer", tone="tone1"),
)
TONES = tuple(each.tone for each in SERIES)
_MAX_SHOWN = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownAddress:
    """An address from outside: for the eye, the page of the desk about it, and itself when it is safe to open."""

    url: str
    text: Address
    about: str
    open: str | None


def shown_address(url: str) -> ShownAddress:
    return ShownAddress(
        url=url, text=address(url, _MAX_SHOWN), about=about_address(url), open=link_target(url)
    )


def about_address(url: str) -> str:
    return f"{ADDRESS_PATH}?{urlencode({'url': url})}"


def about_source(url: str) -> str:
    return f"{LIST_PATH}?{urlencode({'source': url, 'days': 0})}"


def about_site(site: str) -> str:
    return f"{LIST_PATH}?{urlencode({'site': site, 'days': 0})}"


def counts(tally: Tally) -> tuple[int, int, int]:
    """In the order of SERIES."""
    return tally.opened, tally.offered, tally.nothing


def tally_meter(tally: Tally, of: int) -> Markup:
    return meter(counts(tally), TONES, of)


def percent(part: int, of: int) -> str:
    return f"{round(100 * part / of)} %" if of else "–"


def trend_chart(moments: Sequence[tuple[datetime, Tally]], wanted: Wanted, now: datetime) -> Chart:
    """Misses over the time that is wanted, else since the first of them; `now` is in the school's own time."""
    since = wanted.since or min([now - timedelta(days=1), *(at for at, _ in moments[:1])])
    until = max(min(wanted.until or now, now), since + timedelta(hours=1))
    bars = trend(moments, since=since, until=until, zone=now.tzinfo or UTC)
    step = step_for(until - since)
    named = {"hour": "%-d %b %H:00", "day": "%a %-d %b", "month": "%B %Y"}[step]
    columns = tuple(_column(bar, named) for bar in bars)
    return Chart(key="trend", title=f"Missed pages per {step}", series=SERIES, columns=columns)


def _column(bar: Bar, named: str) -> Column:
    return Column(label=bar.at.strftime(named), counts=counts(bar.tally))


def when(at: datetime, now: datetime) -> str:
    """A moment in the school's own time, shorter when it is near."""
    local = at.astimezone(now.tzinfo)
    if local.date() == now.date():
        return f"today {local:%H:%M}"
    if local.date() == (now - timedelta(days=1)).date():
        return f"yesterday {local:%H:%M}"
    return f"{local:%-d %b %Y %H:%M}" if local.year != now.year else f"{local:%-d %b %H:%M}"


def plain(text: str, limit: int = _MAX_SHOWN) -> str:
    return clean(text, limit)
