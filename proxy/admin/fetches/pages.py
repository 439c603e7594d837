"""The admin pages of the fetch queue: what is queued, its progress, what failed and why."""

import asyncio
from datetime import datetime
from typing import Annotated

import msgspec
from aiohttp import web
from msgspec import Meta, Struct

from proxy.admin.misses.views import shown_address, when
from proxy.admin.routing import AdminContext, AdminPage, ApiProblem, Route, form, render, see_other
from proxy.fetching.entries import FetchState, FetchTime, NotQueuedError
from proxy.fetching.queue import FetchQueue
from proxy.pages.desktexts import tr
from proxy.settings import Settings
from proxy.sizes import size

PATH = "/admin/fetch"
_LIMIT = 50
_MAX_ADDED = 500
_SHOWN_FAULTS = 5
WISHES = {FetchTime.NOW: tr("Now"), FetchTime.LINE: tr("When online"), FetchTime.NIGHT: tr("At night")}
_STATES = {
    FetchState.FETCHING: tr("Fetching"),
    FetchState.WAITING: tr("Waiting"),
    FetchState.DONE: tr("Done"),
    FetchState.FAILED: tr("Failed"),
    FetchState.REFUSED: tr("Not allowed"),
}


class FetchListQuery(Struct, kw_only=True, frozen=True):
    state: FetchState | None = None
    offset: Annotated[int, Meta(ge=0, le=1_000_000)] = 0


def routes(admin: AdminContext) -> list[Route]:
    if admin.fetches is None:
        return []
    pages = FetchPages(admin, admin.fetches)
    return [
        AdminPage(path=PATH, handler=pages.show, menu=tr("Fetch queue")),
        AdminPage(path=f"{PATH}/add", handler=pages.add, method="POST"),
        AdminPage(path=f"{PATH}/retry", handler=pages.retry, method="POST"),
        AdminPage(path=f"{PATH}/remove", handler=pages.remove, method="POST"),
    ]


class FetchPages:
    """The pages over one queue."""

    def __init__(self, admin: AdminContext, queue: FetchQueue) -> None:
        self._admin = admin
        self._queue = queue

    async def show(self, request: web.Request) -> web.StreamResponse:
        return await self._render(request)

    async def add(self, request: web.Request) -> web.StreamResponse:
        """Queue one address a line. The page shows the lines that cannot be queued again, and says why."""
        fields = await form(request)
        wish = _wish(fields)
        lines = [line for line in map(str.strip, fields.get("urls", "").splitlines()) if line]
        if not lines:
            return await self._render(request, faults=[tr("Enter at least one address.")], status=400)
        left, faults = await asyncio.to_thread(self._add_all, lines[:_MAX_ADDED], wish)
        left += lines[_MAX_ADDED:]
        if lines[_MAX_ADDED:]:
            faults.append(tr("Only the first {most} lines were read.", most=_MAX_ADDED))
        if not faults:
            notice = tr("Added to the queue: {count}. When: {when}.", count=len(lines), when=WISHES[wish])
            return see_other(request, PATH, notice=notice)
        return await self._render(request, faults=faults, urls="\n".join(left), wish=wish, status=400)

    async def retry(self, request: web.Request) -> web.StreamResponse:
        number = _number(await form(request))
        if await asyncio.to_thread(self._queue.retry, number) is None:
            return see_other(request, PATH, notice=tr("This page is no longer in the queue."))
        return see_other(request, PATH, notice=tr("Fetching again now."))

    async def remove(self, request: web.Request) -> web.StreamResponse:
        number = _number(await form(request))
        await asyncio.to_thread(self._queue.remove, number)
        return see_other(request, PATH, notice=tr("Removed from the queue."))

    def _add_all(self, lines: list[str], wish: FetchTime) -> tuple[list[str], list[str]]:
        """Queue the lines; returns those that could not be queued, and what was wrong with the first of them."""
        left, faults = [], []
        for line in lines:
            try:
                self._queue.add(line, when=wish, why="on the desk")
            except NotQueuedError as error:
                left.append(line)
                faults.append(str(error))
        return left, faults[:_SHOWN_FAULTS]

    async def _render(
        self,
        request: web.Request,
        *,
        faults: list[str] | None = None,
        urls: str = "",
        wish: FetchTime = FetchTime.LINE,
        status: int = 200,
    ) -> web.StreamResponse:
        query = _listing(request) if request.method == "GET" else FetchListQuery()
        entries = await asyncio.to_thread(
            self._queue.list, _LIMIT + 1, offset=query.offset, state=query.state
        )
        counts = await asyncio.to_thread(self._queue.counts)
        return render(
            request,
            "desk/fetch.html.jinja",
            title=tr("Fetch queue"),
            status=status,
            entries=entries[:_LIMIT],
            counts=counts,
            states=_STATES,
            wishes=WISHES,
            query=query,
            tabs=_tabs(query, counts),
            less=_address(query.state, max(0, query.offset - _LIMIT)) if query.offset else "",
            more=_address(query.state, query.offset + _LIMIT) if len(entries) > _LIMIT else "",
            faults=faults or [],
            urls=urls,
            wish=wish,
            hindrance=_hindrance(self._admin.settings()),
            fetch=self._admin.settings().fetch,
            now=datetime.now().astimezone(),
            when=when,
            size=size,
            shown_address=shown_address,
        )


def _hindrance(settings: Settings) -> str:
    """Why linkmend fetches nothing at all; "" when it does fetch."""
    if settings.proxy.offline:
        return tr("linkmend runs in offline mode. Restart it without --offline to fetch pages.")
    return "" if settings.fetch.enabled else tr("Fetching is switched off in the settings (fetch.enabled).")


def _tabs(query: FetchListQuery, counts: dict[FetchState, int]) -> list[tuple[str, str, bool]]:
    everything = (_address(None), tr("All {count}", count=sum(counts.values())), query.state is None)
    return [
        everything,
        *(
            (_address(state), tr("{state}: {count}", state=name, count=counts[state]), state is query.state)
            for state, name in _STATES.items()
        ),
    ]


def _address(state: FetchState | None, offset: int = 0) -> str:
    parameters = [f"state={state}" if state else "", f"offset={offset}" if offset else ""]
    text = "&".join(filter(None, parameters))
    return f"{PATH}?{text}" if text else PATH


def _listing(request: web.Request) -> FetchListQuery:
    try:
        return msgspec.convert({k: v for k, v in request.query.items() if v}, FetchListQuery, strict=False)
    except msgspec.ValidationError as error:
        raise ApiProblem(400, tr("can't show this list: {error}", error=str(error))) from error


def _wish(fields: dict[str, str]) -> FetchTime:
    try:
        return FetchTime(fields.get("when", FetchTime.LINE))
    except ValueError:
        raise ApiProblem(400, tr("when: expected now, line (when online) or night")) from None


def _number(fields: dict[str, str]) -> int:
    text = fields.get("id", "")
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise ApiProblem(400, tr("the form names no page of the queue"))
    return int(text)
