"""The admin page of growth: misses week by week and topic by topic, and what the nights brought and cost."""

import asyncio
from datetime import datetime
from urllib.parse import urlencode

from aiohttp import web

from proxy.admin.charts import Chart, ChartColumn
from proxy.admin.growth.service import GrowthOverview, GrowthReader, TopicGrowth, moment
from proxy.admin.misses.views import SERIES, counts, percent, shown_address, tally_meter, when
from proxy.admin.routing import AdminContext, AdminPage, Route, render
from proxy.admin.topics.pages import about_topic
from proxy.pages.desktexts import tr
from proxy.settings import Settings
from proxy.sizes import size
from repair.growing.growthstore import BroughtBy

PATH = "/admin/growth"
WAYS = {
    BroughtBy.BACK: tr("Back"),
    BroughtBy.ARCHIVED: tr("Archived copies"),
    BroughtBy.RELATED: tr("Related"),
    BroughtBy.CRAWLED: tr("Crawled"),
}


def routes(admin: AdminContext) -> list[Route]:
    if admin.topics is None:
        return []
    page = GrowthPage(admin, GrowthReader(admin.misses, admin.topics))
    return [AdminPage(path=PATH, handler=page.show, menu=tr("Growth"))]


class GrowthPage:
    """The page over the miss log and the nights."""

    def __init__(self, admin: AdminContext, reader: GrowthReader) -> None:
        self._admin = admin
        self._reader = reader

    async def show(self, request: web.Request) -> web.StreamResponse:
        now = datetime.now().astimezone()
        found = await asyncio.to_thread(self._reader.read, now)
        names = [each.topic for each in found.topics]
        chosen = request.query.get("topic")
        chosen = chosen if chosen in names else None
        shown = found.of(chosen)
        return render(
            request,
            "desk/growth.html.jinja",
            title=tr("Growth"),
            found=found,
            chosen=chosen,
            shown=shown,
            chart=weekly_chart(found, shown),
            tabs=_tabs(names, chosen),
            settings=self._admin.settings(),
            hindrance=_hindrance(self._admin.settings()),
            now=now,
            ways=WAYS,
            moment=moment,
            when=when,
            size=size,
            percent=percent,
            tally_meter=tally_meter,
            shown_address=shown_address,
            about_topic=about_topic,
            topic_address=_address,
            most=max((each.total.times for each in found.topics), default=0),
        )


def weekly_chart(found: GrowthOverview, shown: TopicGrowth) -> Chart:
    """Misses by week and outcome."""
    columns = tuple(
        ChartColumn(label=f"{begin:%Y-%m-%d}", counts=counts(tally))
        for begin, tally in zip(found.begins, shown.weeks, strict=True)
    )
    return Chart(key="growth", title=tr("Dead links per week"), series=SERIES, columns=columns)


def _tabs(names: list[str], chosen: str | None) -> list[tuple[str, str, bool]]:
    everything = (PATH, tr("All"), chosen is None)
    return [everything, *((_address(name), name or tr("No topic"), name == chosen) for name in names)]


def _address(name: str) -> str:
    return f"{PATH}?{urlencode({'topic': name})}"


def _hindrance(settings: Settings) -> str:
    """Why nothing grows at night; "" when it does."""
    if settings.proxy.offline:
        return tr("linkmend runs in offline mode, so nothing is fetched.")
    if not settings.grow.enabled:
        return tr(
            "Growing at night is switched off (grow.enabled). The command linkmend grow works without it."
        )
    return ""
