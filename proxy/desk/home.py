"""The first page of the desk: how things stand, in four figures, and where to go from there."""

import asyncio

from aiohttp import web

from proxy.desk.frame import Desk, Page, Route, render
from proxy.desk.health import line_state

_ABOUT = {
    "/admin/misses": "What readers looked for and did not get, and what to do about it.",
    "/admin/fetch": "Pages to fetch when the line is up, or at night.",
    "/admin/collection": "What is held for readers, and what to remove.",
    "/admin/rules": "What linkmend does for which addresses.",
    "/admin/live": "Misses as they happen.",
    "/admin/health": "The line, archives, cache, queues and recent errors.",
    "/admin/access": "The password, and tokens for programs.",
}


def routes(desk: Desk) -> list[Route]:
    async def show(request: web.Request) -> web.StreamResponse:
        sources = desk.health
        return render(
            request,
            "desk/home.html.jinja",
            title="The desk",
            about=_ABOUT,
            missed=await asyncio.to_thread(desk.misses.count),
            held=await desk.reader.count(),
            line="" if sources is None else line_state(sources.line, offline=desk.settings().proxy.offline),
            counted=None if sources is None else await asyncio.to_thread(sources.snapshot),
        )

    async def slash(request: web.Request) -> web.StreamResponse:
        return web.Response(status=308, headers={"Location": "/admin"})

    return [
        Page(path="/admin", handler=show, menu="Start"),
        Page(path="/admin/", handler=slash),
    ]
