"""Missed pages for the templates: names of kinds, charts, readable addresses (pure)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

from markupsafe import Markup

from proxy.admin.charts import Chart, ChartColumn, ChartSeries, meter
from proxy.misses.filters import MissFilter
from proxy.misses.lists import MissTally
from proxy.misses.trend import TrendBar, step_for, trend
from proxy.pages.desktexts import tr
from proxy.pages.display import DisplayAddress, address, clean, link_target
from repair.model import MissKind

ADDRESS_PATH = "/admin/misses/address"
LIST_PATH = "/admin/misses"
KINDS = {
    MissKind.NOT_FOUND: tr("Not found"),
    MissKind.GONE: tr("Gone (410)"),
    MissKind.SOFT_404: tr("'Not found' page sent as OK (soft 404)"),
    MissKind.UNREACHABLE: tr("Site unreachable"),
    MissKind.TIMEOUT: tr("Timeout"),
    MissKind.TLS: tr("Certificate problem (TLS)"),
    MissKind.SERVER_ERROR: tr("Server error (5xx)"),
    MissKind.OFFLINE: tr("Offline"),
    MissKind.PARKED: tr("Parked domain"),
}
SERIES = (
    ChartSeries(name=tr("Suggestion opened"), tone="tone0"),
    ChartSeries(name=tr("Suggestions, none opened"), tone="tone3"),
    ChartSeries(name=tr("No suggestions"), tone="tone1"),
)
TONES = tuple(each.tone for each in SERIES)
_TITLES = {
    "hour": tr("Dead links per hour"),
    "day": tr("Dead links per day"),
    "month": tr("Dead links per month"),
}
_MAX_SHOWN = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownAddress:
    """An outside address: a readable form, its admin page, and the address itself when it is safe to open."""

    url: str
    text: DisplayAddress
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


def counts(tally: MissTally) -> tuple[int, int, int]:
    """In the order of SERIES."""
    return tally.opened, tally.offered, tally.nothing


def tally_meter(tally: MissTally, of: int) -> Markup:
    return meter(counts(tally), TONES, of)


def percent(part: int, of: int) -> str:
    return f"{round(100 * part / of)} %" if of else "–"


def trend_chart(moments: Sequence[tuple[datetime, MissTally]], wanted: MissFilter, now: datetime) -> Chart:
    """Misses over the filtered time, else since the first miss; `now` is in local time."""
    since = wanted.since or min([now - timedelta(days=1), *(at for at, _ in moments[:1])])
    until = max(min(wanted.until or now, now), since + timedelta(hours=1))
    bars = trend(moments, since=since, until=until, zone=now.tzinfo or UTC)
    step = step_for(until - since)
    named = {"hour": "%Y-%m-%d %H:00", "day": "%Y-%m-%d", "month": "%Y-%m"}[step]
    columns = tuple(_column(bar, named) for bar in bars)
    return Chart(key="trend", title=_TITLES[step], series=SERIES, columns=columns)


def _column(bar: TrendBar, named: str) -> ChartColumn:
    return ChartColumn(label=bar.at.strftime(named), counts=counts(bar.tally))


def when(at: datetime, now: datetime) -> str:
    """A moment in local time, shorter when it is near."""
    local = at.astimezone(now.tzinfo)
    if local.date() == now.date():
        return tr("today {time}", time=f"{local:%H:%M}")
    if local.date() == (now - timedelta(days=1)).date():
        return tr("yesterday {time}", time=f"{local:%H:%M}")
    return tr("{day} {time}", day=local.date(), time=f"{local:%H:%M}")


def plain(text: str, limit: int = _MAX_SHOWN) -> str:
    return clean(text, limit)
