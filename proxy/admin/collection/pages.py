"""The collection for people: how much is held, what, and how one page is removed for good."""

import asyncio
from datetime import datetime, timedelta
from typing import Annotated, Any
from urllib.parse import urlencode

import msgspec
from aiohttp import web
from msgspec import Meta, Struct

from proxy.desk.charts import Chart, Column, Series
from proxy.desk.frame import Desk, Page, Problem, Route, form, render, see_other
from proxy.desk.holdings import GROWTH_DAYS, About, Holder
from proxy.desk.missviews import percent, plain, shown_address, when
from proxy.desk.sizes import size

PATH = "/admin/collection"
_LIMIT = 30
_SHOWN_LANGUAGES = 12
_FOUND = 30


class Listing(Struct, kw_only=True, frozen=True):
    q: Annotated[str, Meta(max_length=300)] = ""
    kept: bool = False
    """Only pages that are kept for good."""
    offset: Annotated[int, Meta(ge=0, le=1_000_000)] = 0


def routes(desk: Desk) -> list[Route]:
    pages = CollectionPages(desk)
    listed: list[Route] = [
        Page(path=PATH, handler=pages.show, menu="Collection"),
        Page(path=f"{PATH}/page", handler=pages.page),
    ]
    if desk.remover is None:
        return listed
    return [
        *listed,
        Page(path=f"{PATH}/remove", handler=pages.confirm),
        Page(path=f"{PATH}/remove", handler=pages.remove, method="POST"),
    ]


class CollectionPages:
    """The pages over one collection."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._holder = Holder(desk)

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
            title="Collection",
            held=held,
            query=query,
            found=await self._desk.repairer.search(query.q, _FOUND) if query.q.strip() else None,
            listed=listed[:_LIMIT],
            chart=growth_chart(held.days, now),
            languages=held.languages[:_SHOWN_LANGUAGES],
            further_languages=sum(count for _, count in held.languages[_SHOWN_LANGUAGES:]),
            pins=await asyncio.to_thread(self._desk.pins.count) if self._desk.pins is not None else 0,
            less=_address(query, offset=max(0, query.offset - _LIMIT)) if query.offset else "",
            more=_address(query, offset=query.offset + _LIMIT) if len(listed) > _LIMIT else "",
            tabs=(
                (_address(query, kept=False, offset=0), "All pages", not query.kept),
                (_address(query, kept=True, offset=0), "Kept for good", query.kept),
            ),
            **_shown(now),
        )

    async def page(self, request: web.Request) -> web.StreamResponse:
        about = await self._about(request.query.get("url", ""))
        missing = about.page is None and not about.responses
        return render(
            request,
            "desk/heldpage.html.jinja",
            title=plain(about.page.title if about.page else "", 120) or "A page without a title",
            status=404 if missing else 200,
            about=about,
            links_in=[(each.source_url, each.link.anchor) for each in about.links_in],
            links_out=[(each.target_url, each.anchor) for each in about.links_out],
            can_remove=self._desk.remover is not None,
            **_shown(datetime.now().astimezone()),
        )

    async def confirm(self, request: web.Request) -> web.StreamResponse:
        about = await self._about(request.query.get("url", ""))
        misses = await asyncio.to_thread(self._missed, about.url) if about.page or about.responses else 0
        return render(
            request,
            "desk/remove.html.jinja",
            title="Remove for good?",
            about=about,
            misses=misses,
            **_shown(datetime.now().astimezone()),
        )

    async def remove(self, request: web.Request) -> web.StreamResponse:
        fields = await form(request)
        about = await self._about(fields.get("url", ""))
        if self._desk.remover is None:
            raise Problem(404, "nothing can be removed here")
        removed = await self._desk.remover.remove(about.url, from_log="misses" in fields)
        if not removed.held and not removed.responses:
            return see_other(request, PATH, notice="That page was not held.")
        told = ["It is removed for good.", *(f"But {each}." for each in removed.left)]
        return see_other(request, PATH, notice=" ".join(told))

    def _missed(self, url: str) -> int:
        rows = self._desk.misses.read("SELECT count(*) AS times FROM misses WHERE url = ?", (url,))
        return int(rows[0]["times"])

    async def _about(self, url: str) -> About:
        about = await self._holder.about(url)
        if about is None:
            raise Problem(400, "that is not an address of the web")
        return about


def about_page(url: str) -> str:
    """The page of the desk about a held page."""
    return f"{PATH}/page?{urlencode({'url': url})}"


def remove_page(url: str) -> str:
    """Where the desk asks whether a page is to be removed."""
    return f"{PATH}/remove?{urlencode({'url': url})}"


def growth_chart(days: tuple[tuple[str, int], ...], now: datetime) -> Chart:
    """Pages by the day on which they were last fetched."""
    counted = dict(days)
    first = now.date() - timedelta(days=GROWTH_DAYS - 1)
    dates = [first + timedelta(days=number) for number in range(GROWTH_DAYS)]
    columns = tuple(Column(label=f"{day:%-d %b}", counts=(counted.get(day.isoformat(), 0),)) for day in dates)
    return Chart(
        key="growth",
        title="Pages by the day they came",
        series=(Series(name="pages", tone="tone0"),),
        columns=columns,
    )


def _shown(now: datetime) -> dict[str, Any]:
    """What the templates need to show addresses, times and sizes."""
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


def _address(query: Listing, **changed: object) -> str:
    fresh = msgspec.structs.replace(query, **changed)
    asked = {"q": fresh.q, "kept": "true" if fresh.kept else "", "offset": str(fresh.offset or "")}
    text = urlencode({name: value for name, value in asked.items() if value})
    return f"{PATH}?{text}" if text else PATH


def _listing(request: web.Request) -> Listing:
    try:
        return msgspec.convert({k: v for k, v in request.query.items() if v}, Listing, strict=False)
    except msgspec.ValidationError as error:
        raise Problem(400, f"this list cannot be shown: {error}") from error
