"""The fetch queue for people: what is to be fetched, how far it is, what failed and why."""

import asyncio
from datetime import datetime
from typing import Annotated

import msgspec
from aiohttp import web
from msgspec import Meta, Struct

from proxy.desk.frame import Desk, Page, Problem, Route, form, render, see_other
from proxy.desk.missviews import shown_address, when
from proxy.desk.sizes import size
from proxy.fetching.entries import NotQueued, State, When
from proxy.fetching.queue import FetchQueue
from proxy.settings import Settings

PATH = "/admin/fetch"
_LIMIT = 50
_MAX_ADDED = 500
_SHOWN_FAULTS = 5
WISHES = {When.NOW: "now", When.LINE: "as soon as the line is up", When.NIGHT: "at night"}
_STATES = {
    State.FETCHING: "Under way",
    State.WAITING: "Waiting",
    State.DONE: "Done",
    State.FAILED: "Failed",
    State.REFUSED: "Not allowed",
}


class Listing(Struct, kw_only=True, frozen=True):
    state: State | None = None
    offset: Annotated[int, Meta(ge=0, le=1_000_000)] = 0


def routes(desk: Desk) -> list[Route]:
    if desk.fetches is None:
        return []
    pages = FetchPages(desk, desk.fetches)
    return [
        Page(path=PATH, handler=pages.show, menu="Fetch queue"),
        Page(path=f"{PATH}/add", handler=pages.add, method="POST"),
        Page(path=f"{PATH}/retry", handler=pages.retry, method="POST"),
        Page(path=f"{PATH}/remove", handler=pages.remove, method="POST"),
    ]


class FetchPages:
    """The pages over one queue."""

    def __init__(self, desk: Desk, queue: FetchQueue) -> None:
        self._desk = desk
        self._queue = queue

    async def show(self, request: web.Request) -> web.StreamResponse:
        return await self._shown(request)

    async def add(self, request: web.Request) -> web.StreamResponse:
        """One address a line. When some cannot be queued, the page comes back with them and says why."""
        fields = await form(request)
        wish = _wish(fields)
        lines = [line for line in map(str.strip, fields.get("urls", "").splitlines()) if line]
        if not lines:
            return await self._shown(request, faults=["Name at least one address."], status=400)
        left, faults = await asyncio.to_thread(self._add_all, lines[:_MAX_ADDED], wish)
        left += lines[_MAX_ADDED:]
        if lines[_MAX_ADDED:]:
            faults.append(f"Only the first {_MAX_ADDED} lines were read.")
        if not faults:
            added = "One page" if len(lines) == 1 else f"{len(lines)} pages"
            return see_other(request, PATH, notice=f"{added} will be fetched {WISHES[wish]}.")
        return await self._shown(request, faults=faults, urls="\n".join(left), wish=wish, status=400)

    async def retry(self, request: web.Request) -> web.StreamResponse:
        number = _number(await form(request))
        if await asyncio.to_thread(self._queue.retry, number) is None:
            return see_other(request, PATH, notice="That page is no longer in the queue.")
        return see_other(request, PATH, notice="It is tried again now.")

    async def remove(self, request: web.Request) -> web.StreamResponse:
        number = _number(await form(request))
        await asyncio.to_thread(self._queue.remove, number)
        return see_other(request, PATH, notice="It is out of the queue.")

    def _add_all(self, lines: list[str], wish: When) -> tuple[list[str], list[str]]:
        """The lines that could not be queued, and what was wrong with the first of them."""
        left, faults = [], []
        for line in lines:
            try:
                self._queue.add(line, when=wish, why="on the desk")
            except NotQueued as error:
                left.append(line)
                faults.append(str(error))
        return left, faults[:_SHOWN_FAULTS]

    async def _shown(
        self,
        request: web.Request,
        *,
        faults: list[str] | None = None,
        urls: str = "",
        wish: When = When.LINE,
        status: int = 200,
    ) -> web.StreamResponse:
        query = _listing(request) if request.method == "GET" else Listing()
        entries = await asyncio.to_thread(
            self._queue.list, _LIMIT + 1, offset=query.offset, state=query.state
        )
        counts = await asyncio.to_thread(self._queue.counts)
        return render(
            request,
            "desk/fetch.html.jinja",
            title="Fetch queue",
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
            hindrance=_hindrance(self._desk.settings()),
            fetch=self._desk.settings().fetch,
            now=datetime.now().astimezone(),
            when=when,
            size=size,
            shown_address=shown_address,
        )


def _hindrance(settings: Settings) -> str:
    """Why nothing is fetched at all, "" when it is."""
    if settings.proxy.offline:
        return "linkmend runs offline: nothing is fetched until it is started without --offline."
    return "" if settings.fetch.enabled else "Fetching is switched off in the settings (fetch.enabled)."


def _tabs(query: Listing, counts: dict[State, int]) -> list[tuple[str, str, bool]]:
    everything = (_address(None), f"All {sum(counts.values())}", query.state is None)
    return [
        everything,
        *(
            (_address(state), f"{name} {counts[state]}", state is query.state)
            for state, name in _STATES.items()
        ),
    ]


def _address(state: State | None, offset: int = 0) -> str:
    asked = [f"state={state}" if state else "", f"offset={offset}" if offset else ""]
    text = "&".join(filter(None, asked))
    return f"{PATH}?{text}" if text else PATH


def _listing(request: web.Request) -> Listing:
    try:
        return msgspec.convert({k: v for k, v in request.query.items() if v}, Listing, strict=False)
    except msgspec.ValidationError as error:
        raise Problem(400, f"this list cannot be shown: {error}") from error


def _wish(fields: dict[str, str]) -> When:
    try:
        return When(fields.get("when", When.LINE))
    except ValueError:
        raise Problem(400, "a page can be wanted now, when the line is up, or at night") from None


def _number(fields: dict[str, str]) -> int:
    text = fields.get("id", "")
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise Problem(400, "no page of the queue is named")
    return int(text)
