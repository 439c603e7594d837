"""The live view: misses as they happen, by server-sent events, or by reloading where no script runs."""

import asyncio
import contextlib
import time
from typing import Annotated

import msgspec
from aiohttp import web
from msgspec import Meta, Struct

from proxy.admin.misses.views import KINDS, about_address
from proxy.admin.routing import (
    AdminContext,
    AdminPage,
    ApiCall,
    ApiProblem,
    ApiRequest,
    Route,
    language_of,
    page_request_of,
    render,
)
from proxy.misses.feed import MissFeed, RecentMiss
from proxy.pages.desktexts import DeskLanguage, tr
from proxy.pages.display import address, shorten

_SHOWN = 50
_MAX_SHOWN = 42  # characters of an address, which fit its column
_HEARTBEAT_S = 15.0
_MAX_STREAM_S = 600.0
_SEND_TIMEOUT_S = 5.0
_THROUGH_PROXY_S = 5.0
_BATCH_S = 0.3  # a burst becomes one message


class LiveCursor(Struct, kw_only=True):
    after: Annotated[int, Meta(ge=0, le=2**53)] = 0
    """The number of the last miss that the client has."""


class LiveRow(Struct, frozen=True, kw_only=True):
    """A miss as the page shows it, in the words of the other pages."""

    number: int
    when: str
    reason: str
    url: str
    shown: str
    about: str
    source: str
    shown_source: str
    guessed: bool
    offered: int


def routes(admin: AdminContext) -> list[Route]:
    missing = admin.missing_now
    if missing is None:
        return []

    async def show(request: web.Request) -> web.StreamResponse:
        rows = [_row(each, language_of(request)) for each in missing.since(0)[-_SHOWN:][::-1]]
        return render(request, "desk/live.html.jinja", title=tr("Dead links, live"), rows=rows)

    async def stream(request: web.Request) -> web.StreamResponse:
        if missing.is_full:
            raise ApiProblem(503, tr("too many live views are open"), {"Retry-After": "30"})
        return await _stream(request, missing)

    async def list_call(given: ApiRequest) -> list[RecentMiss]:
        return list(missing.since(given.query.after))

    return [
        AdminPage(path="/admin/live", handler=show, menu=tr("Live")),
        AdminPage(path="/admin/live/stream", handler=stream),
        ApiCall(
            method="GET",
            path="/admin/api/live",
            handler=list_call,
            summary="The latest dead links, oldest first",
            query=LiveCursor,
            answer=list[RecentMiss],
        ),
    ]


async def _stream(request: web.Request, missing: MissFeed) -> web.StreamResponse:
    """Send one message for each batch of misses. When the stream ends, the browser reconnects with the last id.

    The proxy forwards a response only when it is complete, so there the stream ends after the first message.
    """
    once = page_request_of(request).through_proxy
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8"})
    await response.prepare(request)
    with contextlib.suppress(
        TimeoutError, ConnectionError
    ):  # too slow, or disconnected; the browser may reconnect
        await _send(response, b"retry: 1000\n\n")
        known, ends_at = _last_known(request), time.monotonic() + _MAX_STREAM_S
        while not missing.is_closed and time.monotonic() < ends_at:
            found = await missing.newer(known, within_s=_THROUGH_PROXY_S if once else _HEARTBEAT_S)
            if found:
                await asyncio.sleep(_BATCH_S)
                found = missing.since(known) or found
                known = found[-1].number
            await _send(response, _message(found, language_of(request)) if found else b": nothing\n\n")
            if once:
                break
    return response


async def _send(response: web.StreamResponse, message: bytes) -> None:
    async with asyncio.timeout(_SEND_TIMEOUT_S):
        await response.write(message)


def _message(found: tuple[RecentMiss, ...], language: DeskLanguage) -> bytes:
    return b"id: %d\ndata: %s\n\n" % (
        found[-1].number,
        msgspec.json.encode([_row(each, language) for each in found]),
    )


def _row(miss: RecentMiss, language: DeskLanguage) -> LiveRow:
    return LiveRow(
        number=miss.number,
        when=f"{miss.at.astimezone():%H:%M:%S}",
        reason=language.texts.get(KINDS[miss.kind], str(KINDS[miss.kind])),
        url=miss.url,
        shown=_short(miss.url),
        about=about_address(miss.url),
        source=miss.source_url or "",
        shown_source=_short(miss.source_url) if miss.source_url else "",
        guessed=miss.source_guessed,
        offered=miss.offered,
    )


def _short(url: str) -> str:
    shown = address(url)
    return shorten(shown.host + shown.path, _MAX_SHOWN)


def _last_known(request: web.Request) -> int:
    last_id = request.headers.get("Last-Event-ID") or request.query.get("after", "0")
    return int(last_id) if last_id.isascii() and last_id.isdecimal() and len(last_id) < 16 else 0
