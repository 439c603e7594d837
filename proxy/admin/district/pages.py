"""The page of the district: a table of its schools, the weeks of all together, and rules and topics to give them."""

import asyncio
from datetime import datetime
from typing import TYPE_CHECKING

from aiohttp import web

from proxy.admin.charts import Chart, ChartColumn, ChartSeries
from proxy.admin.home.warnings import CHECK_NAMES
from proxy.admin.misses.views import percent, when
from proxy.admin.routing import (
    AdminContext,
    AdminPage,
    Route,
    form,
    page_request_of,
    render,
    see_other,
)
from proxy.errors import DistrictUnavailable
from proxy.pages.desktexts import tr
from proxy.rules.model import RulesError
from repair.crawling.topics import InvalidTopic

if TYPE_CHECKING:
    from proxy.admin.district.service import DistrictDesk
    from proxy.district.desk.overview import DistrictOverview
    from proxy.district.desk.pushing import PushKind

PATH = "/admin/district"
_SERIES = (
    ChartSeries(name=tr("Suggestion opened"), tone="tone0"),
    ChartSeries(name=tr("No suggestion opened"), tone="tone1"),
)
_MAX_FAULTS = 20


def routes(admin: AdminContext) -> list[Route]:
    if not admin.settings().district.desk:
        return []
    from proxy.admin.district.service import DistrictDesk
    from proxy.district.desk.pushing import PushKind

    page = DistrictPage(DistrictDesk(lambda: admin.settings().district))

    async def give_rules(request: web.Request) -> web.StreamResponse:
        return await page.give(request, PushKind.RULES)

    async def give_topics(request: web.Request) -> web.StreamResponse:
        return await page.give(request, PushKind.TOPICS)

    return [
        AdminPage(path=PATH, handler=page.show, menu=tr("District")),
        AdminPage(path=f"{PATH}/rules", handler=give_rules, method="POST", max_body_bytes=1_000_000),
        AdminPage(path=f"{PATH}/topics", handler=give_topics, method="POST", max_body_bytes=1_000_000),
    ]


class DistrictPage:
    """The page over the district's database."""

    def __init__(self, desk: "DistrictDesk") -> None:
        self._desk = desk

    async def show(self, request: web.Request) -> web.StreamResponse:
        return await self._shown(request)

    async def give(self, request: web.Request, kind: "PushKind") -> web.StreamResponse:
        """Give all schools a text, or show what is wrong with it."""
        visit = page_request_of(request)
        text = (await form(request)).get("text", "").replace("\r\n", "\n")
        try:
            version = await asyncio.to_thread(self._desk.push, kind, text, by=visit.account)
        except RulesError as error:
            faults = [str(fault) for fault in error.faults[:_MAX_FAULTS]]
            return await self._shown(request, status=400, faults={kind: faults}, texts={kind: text})
        except InvalidTopic as error:
            return await self._shown(request, status=400, faults={kind: [str(error)]}, texts={kind: text})
        except DistrictUnavailable:
            return await self._shown(request, texts={kind: text})
        visit.about = f"{kind} version {version}"
        notice = tr("Given as version {version}; schools take it within a minute.", version=version)
        return see_other(request, PATH, notice=notice)

    async def _shown(
        self,
        request: web.Request,
        *,
        status: int = 200,
        faults: "dict[PushKind, list[str]] | None" = None,
        texts: "dict[PushKind, str] | None" = None,
    ) -> web.Response:
        now = datetime.now().astimezone()
        fault, state = "", None
        try:
            state = await asyncio.to_thread(self._desk.read, now.date())
        except DistrictUnavailable as error:
            fault, status = str(error), 503
        return render(
            request,
            "desk/district.html.jinja",
            title=tr("District"),
            status=status,
            fault=fault,
            state=state,
            chart=_chart(state.overview) if state is not None else None,
            faults=faults or {},
            texts=texts or {},
            check_names=CHECK_NAMES,
            percent=percent,
            when=when,
            now=now,
        )


def _chart(overview: "DistrictOverview") -> Chart:
    columns = tuple(
        ChartColumn(label=f"{week.begin:%Y-%m-%d}", counts=(week.opened, week.misses - week.opened))
        for week in overview.weeks
    )
    return Chart(key="district", title=tr("Dead links per week"), series=_SERIES, columns=columns)
