"""The admin pages of the collection: its size, its contents, and how to remove a page for good."""

import asyncio
from datetime import datetime, timedelta
from typing import Annotated, Any
from urllib.parse import urlencode

import msgspec
from aiohttp import web
from msgspec import Meta, Struct

from proxy.admin.charts import Chart, ChartColumn, ChartSeries
from proxy.admin.collection.service import GROWTH_DAYS, AdminCollection, PageDetails
from proxy.admin.misses.views import percent, plain, shown_address, when
from proxy.admin.routing import AdminContext, AdminPage, ApiProblem, Route, form, render, see_other
from proxy.pages.desktexts import tr
from proxy.sizes import size

PATH = "/admin/collection"
_LIMIT = 30
_SHOWN_LANGUAGES = 12
_FOUND = 30


class CollectionListQuery(Struct, kw_only=True, frozen=True):
    q: Annotated[str, Meta(max_length=300)] = ""
    kept: bool = False
    """Only pinned pages."""
    offset: Annotated[int, Meta(ge=0, le=1_000_000)] = 0


def routes(admin: AdminContext) -> list[Route]:
    pages = CollectionPages(admin)
    listed: list[Route] = [
        AdminPage(path=PATH, handler=pages.show, menu=tr("Collection")),
        AdminPage(path=f"{PATH}/page", handler=pages.page),
    ]
    if admin.remover is None:
        return listed
    return [
        *listed,
        AdminPage(path=f"{PATH}/remove", handler=pages.confirm),
        AdminPage(path=f"{PATH}/remove", handler=pages.remove, method="POST"),
    ]


class CollectionPages:
    """The pages over one collection."""

    def __init__(self, admin: AdminContext) -> None:
        self._admin = admin
        self._holder = AdminCollection(admin)

    async def show(self, request: web.Request) -> web.StreamResponse:
        query = _listing(request)
        now = datetime.now().astimezone()
        held = await self._holder.all(now)
        listed = await asyncio.to_thread(
            self._holder.census.latest, _LIMIT + 1, offset=query.offset, pinned=query.kept
        )
        return render(
            request,
            "desk/collection.html.jinja",
            title=tr("Collection"),
            held=held,
            can_import=self._admin.imports is not None,
            query=query,
            found=await self._admin.repairer.search(query.q, _FOUND) if query.q.strip() else None,
            listed=listed[:_LIMIT],
            chart=growth_chart(held.days, now),
            languages=held.languages[:_SHOWN_LANGUAGES],
            further_languages=sum(count for _, count in held.languages[_SHOWN_LANGUAGES:]),
            pins=await asyncio.to_thread(self._admin.pins.count) if self._admin.pins is not None else 0,
            less=_address(query, offset=max(0, query.offset - _LIMIT)) if query.offset else "",
            more=_address(query, offset=query.offset + _LIMIT) if len(listed) > _LIMIT else "",
            tabs=(
                (_address(query, kept=False, offset=0), tr("All pages"), not query.kept),
                (_address(query, kept=True, offset=0), tr("Kept permanently"), query.kept),
            ),
            **_template_helpers(now),
        )

    async def page(self, request: web.Request) -> web.StreamResponse:
        about = await self._about(request.query.get("url", ""))
        missing = about.page is None and not about.responses
        return render(
            request,
            "desk/heldpage.html.jinja",
            title=plain(about.page.title if about.page else "", 120) or tr("Untitled page"),
            status=404 if missing else 200,
            about=about,
            links_in=[(each.source_url, each.link.anchor) for each in about.links_in],
            links_out=[(each.target_url, each.anchor) for each in about.links_out],
            can_remove=self._admin.remover is not None,
            **_template_helpers(datetime.now().astimezone()),
        )

    async def confirm(self, request: web.Request) -> web.StreamResponse:
        about = await self._about(request.query.get("url", ""))
        misses = (
            await asyncio.to_thread(self._count_misses, about.url) if about.page or about.responses else 0
        )
        return render(
            request,
            "desk/remove.html.jinja",
            title=tr("Remove permanently?"),
            about=about,
            misses=misses,
            **_template_helpers(datetime.now().astimezone()),
        )

    async def remove(self, request: web.Request) -> web.StreamResponse:
        fields = await form(request)
        about = await self._about(fields.get("url", ""))
        if self._admin.remover is None:
            raise ApiProblem(404, tr("pages can't be removed on this desk"))
        removed = await self._admin.remover.remove(about.url, from_log="misses" in fields)
        if not removed.held and not removed.responses:
            return see_other(request, PATH, notice=tr("No page was saved for that address."))
        if not removed.left:
            return see_other(request, PATH, notice=tr("Page removed."))
        notice = tr("Page removed. But {left}.", left="; ".join(removed.left))
        return see_other(request, PATH, notice=notice)

    def _count_misses(self, url: str) -> int:
        rows = self._admin.misses.read("SELECT count(*) AS times FROM misses WHERE url = ?", (url,))
        return int(rows[0]["times"])

    async def _about(self, url: str) -> PageDetails:
        about = await self._holder.about(url)
        if about is None:
            raise ApiProblem(400, tr("not a web address (start with http:// or https://)"))
        return about


def about_page(url: str) -> str:
    """The admin page about a saved page."""
    return f"{PATH}/page?{urlencode({'url': url})}"


def remove_page(url: str) -> str:
    """The admin page that asks whether to remove a page."""
    return f"{PATH}/remove?{urlencode({'url': url})}"


def growth_chart(days: tuple[tuple[str, int], ...], now: datetime) -> Chart:
    """Pages by the day on which they were last fetched."""
    counted = dict(days)
    first = now.date() - timedelta(days=GROWTH_DAYS - 1)
    dates = [first + timedelta(days=number) for number in range(GROWTH_DAYS)]
    columns = tuple(
        ChartColumn(label=day.isoformat(), counts=(counted.get(day.isoformat(), 0),)) for day in dates
    )
    return Chart(
        key="growth",
        title=tr("Pages added per day"),
        series=(ChartSeries(name=tr("pages"), tone="tone0"),),
        columns=columns,
    )


def _template_helpers(now: datetime) -> dict[str, Any]:
    """Template variables that format addresses, times and sizes."""
    return {
        "now": now,
        "when": when,
        "size": size,
        "plain": plain,
        "percent": percent,
        "shown_address": shown_address,
        "about_page": about_page,
        "remove_page": remove_page,
    }


def _address(query: CollectionListQuery, **changed: object) -> str:
    fresh = msgspec.structs.replace(query, **changed)
    parameters = {"q": fresh.q, "kept": "true" if fresh.kept else "", "offset": str(fresh.offset or "")}
    text = urlencode({name: value for name, value in parameters.items() if value})
    return f"{PATH}?{text}" if text else PATH


def _listing(request: web.Request) -> CollectionListQuery:
    try:
        return msgspec.convert(
            {k: v for k, v in request.query.items() if v}, CollectionListQuery, strict=False
        )
    except msgspec.ValidationError as error:
        raise ApiProblem(400, tr("can't show this list: {error}", error=str(error))) from error
