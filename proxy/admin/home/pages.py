"""The first page: set-up warnings, traffic of the last day, the dead links that cost most users, recent errors."""

import asyncio
from datetime import datetime, timedelta
from typing import Any

from aiohttp import web

from proxy.admin.charts import Chart, ChartColumn, ChartSeries
from proxy.admin.health import report_of
from proxy.admin.home.warnings import CHECK_NAMES, setup_warnings
from proxy.admin.misses.actions import MissActions
from proxy.admin.misses.address import address_details_of, offers_now
from proxy.admin.misses.views import about_address, plain, shown_address, when
from proxy.admin.roles import Role
from proxy.admin.routing import AdminContext, AdminPage, Route, local, page_request_of, render
from proxy.misses.filters import MissFilter
from proxy.misses.lists import CostlyAddress
from proxy.monitoring.problemgroups import group_problems
from proxy.monitoring.traffic import TrafficHour
from proxy.pages.desktexts import tr
from repair.model import Alternative

PATH = "/admin"
_COSTLIEST = 10
_DAYS = 7
_FOUND = 5
_PROBLEMS = 5
_MAX_QUERY = 300
_SERIES = (
    ChartSeries(name=tr("From the cache"), tone="tone0"),
    ChartSeries(name=tr("From the internet"), tone="tone3"),
    ChartSeries(name=tr("Failed or refused"), tone="tone1"),
)


def routes(admin: AdminContext) -> list[Route]:
    home = HomePage(admin)

    async def slash(request: web.Request) -> web.StreamResponse:
        return web.Response(status=308, headers={"Location": PATH})

    return [
        AdminPage(path=PATH, handler=home.show, menu=tr("Start")),
        AdminPage(path=f"{PATH}/", handler=slash),
    ]


class HomePage:
    """The page that says what to do next."""

    def __init__(self, admin: AdminContext) -> None:
        self._admin = admin
        self._actions = MissActions(admin) if admin.review is not None else None

    async def show(self, request: web.Request) -> web.StreamResponse:
        """`for` names a dead link in the list: its suggestions are shown there, or what `q` finds, to pin one."""
        now = datetime.now().astimezone()
        costly = await asyncio.to_thread(self._costliest, now)
        chosen = request.query.get("for", "")
        query = request.query.get("q", "")[:_MAX_QUERY].strip()
        return render(
            request,
            "desk/home.html.jinja",
            title=tr("Admin desk"),
            now=now,
            costly=costly,
            chosen=chosen if any(row.url == chosen for row in costly) else "",
            query=query,
            found=await self._find(chosen, query) if any(row.url == chosen for row in costly) else (),
            shown_address=shown_address,
            about_address=about_address,
            plain=plain,
            when=when,
            checks=CHECK_NAMES,
            wants_setup=page_request_of(request).role is Role.ADMIN
            and not await asyncio.to_thread(self._admin.is_set_up),
            **await self._state(),
        )

    async def _state(self) -> dict[str, Any]:
        report = await report_of(self._admin)
        if report is None or self._admin.health is None:
            return {"health": None, "warnings": [], "hours": (), "chart": None, "problems": ()}
        hours = await asyncio.to_thread(self._admin.health.traffic)
        return {
            "health": report,
            "warnings": await setup_warnings(self._admin.settings(), self._admin.data, report),
            "hours": hours,
            "chart": traffic_chart(hours),
            "problems": group_problems(report.problems)[:_PROBLEMS],
        }

    def _costliest(self, now: datetime) -> tuple[CostlyAddress, ...]:
        """Those that nobody has decided about: neither ignored nor pinned."""
        if self._actions is None:
            return ()
        filters = MissFilter(since=now - timedelta(days=_DAYS))
        pins = self._actions.pins
        rows = self._actions.review.lists.costliest(filters, 3 * _COSTLIEST)
        return tuple(row for row in rows if pins.of(row.url) is None)[:_COSTLIEST]

    async def _find(self, url: str, query: str) -> tuple[Alternative, ...]:
        if query:
            return (await self._admin.repairer.search(query, _FOUND))[:_FOUND]
        if self._actions is None:
            return ()
        known = await asyncio.to_thread(address_details_of, self._admin, self._actions, url)
        return (await offers_now(self._admin, url, known))[:_FOUND]


def traffic_chart(hours: tuple[TrafficHour, ...]) -> Chart:
    """Responses by the hour, in local time."""
    columns = tuple(
        ChartColumn(label=local(hour.at, "%H:00"), counts=(hour.from_cache, hour.from_sites, hour.failed))
        for hour in hours
    )
    return Chart(key="traffic", title=tr("Responses in the last 24 hours"), series=_SERIES, columns=columns)
