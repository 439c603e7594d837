"""The live view: misses as they happen, over server-sent events, or by reloading where no script runs."""

import asyncio
import contextlib
import time
from typing import Annotated

import msgspec
from aiohttp import web
from msgspec import Meta, Struct

from proxy.desk.frame import Call, Desk, Given, Page, Problem, Route, render, visit_of
from proxy.desk.missing import Missed, MissingNow

_SHOWN = 50
_HEARTBEAT_S = 15.0
_LASTS_S = 600.0
_SLOW_S = 5.0
_THROUGH_PROXY_S = 5.0
_GATHERED_S = 0.3  # a burst becomes one message


class After(Struct, kw_only=True):
    after: Annotated[int, Meta(ge=0, le=2**53)] = 0
    """The number of the last miss that is known already."""


def routes(desk: Desk) -> list[Route]:
    missing = desk.missing_now
    if missing is None:
        return []

    async def show(request: web.Request) -> web.StreamResponse:
        rows = missing.since(0)[-_SHOWN:][::-1]
        return render(request, "desk/live.html.jinja", title="Missing right now", rows=rows)

    async def stream(request: web.Request) -> web.StreamResponse:
        if missing.is_full:
            raise Problem(503, "too many watch already", {"Retry-After": "30"})
        return await _stream(request, missing)

    async def list_call(given: Given) -> list[Missed]:
        return list(missing.since(given.query.after))

    return [
        Page(path="/admin/live", handler=show, menu="Live"),
        Page(path="/admin/live/stream", handler=stream),
        Call(
            method="GET",
            path="/admin/api/live",
            handler=list_call,
            summary="The latest misses, oldest first",
            query=After,
            answer=list[Missed],
        ),
    ]


async def _stream(request: web.Request, missing: MissingNow) -> web.StreamResponse:
    """One message for each batch of misses. The browser asks again, from the last id, when the stream ends.

    Through the proxy an answer is passed on when it is whole, so there it ends with the first message.
    """
    once = visit_of(request).through_proxy
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8"})
    await response.prepare(request)
    with contextlib.suppress(TimeoutError, ConnectionError):  # too slow, or gone; they may come back
        await _send(response, b"retry: 1000\n\n")
        known, ends_at = _last_known(request), time.monotonic() + _LASTS_S
        while not missing.is_closed and time.monotonic() < ends_at:
            found = await missing.newer(known, within_s=_THROUGH_PROXY_S if once else _HEARTBEAT_S)
            if found:
                await asyncio.sleep(_GATHERED_S)
                found = missing.since(known) or found
                known = found[-1].number
            await _send(response, _message(found) if found else b": nothing\n\n")
            if once:
                break
    return response


async def _send(response: web.StreamResponse, message: bytes) -> None:
    async with asyncio.timeout(_SLOW_S):
        await response.write(message)


def _message(found: tuple[Missed, ...]) -> bytes:
    return b"id: %d\ndata: %s\n\n" % (found[-1].number, msgspec.json.encode(found))


def _last_known(request: web.Request) -> int:
    told = request.headers.get("Last-Event-ID") or request.query.get("after", "0")
    return int(told) if told.isascii() and told.isdecimal() and len(told) < 16 else 0
