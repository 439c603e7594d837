"""The first admin page: four figures, and links to the other pages."""

import asyncio
import time

from aiohttp import web

from proxy.admin.routing import AdminContext, AdminPage, Route, render
from proxy.monitoring.health import connectivity_state

_ABOUT = {
    "/admin/misses": "Pages that users could not open, and what to do about them.",
    "/admin/fetch": "Pages to fetch now, when online, or at night.",
    "/admin/collection": "Search, inspect and remove saved pages.",
    "/admin/rules": "Who may see what, and when.",
    "/admin/live": "Dead links as they happen.",
    "/admin/health": "Internet, archives, cache, queues and recent errors.",
    "/admin/access": "Password and API tokens.",
}


def routes(admin: AdminContext) -> list[Route]:
    async def show(request: web.Request) -> web.StreamResponse:
        sources = admin.health
        return render(
            request,
            "desk/home.html.jinja",
            title="Admin desk",
            about=_ABOUT,
            missed=await asyncio.to_thread(admin.misses.count),
            held=await admin.async_collection.count(),
            line=""
            if sources is None
            else connectivity_state(sources.connectivity, offline=admin.settings().proxy.offline),
            heard=sources is not None and sources.connectivity.since_reply_s(time.monotonic()) is not None,
            counted=None if sources is None else await asyncio.to_thread(sources.snapshot),
        )

    async def slash(request: web.Request) -> web.StreamResponse:
        return web.Response(status=308, headers={"Location": "/admin"})

    return [
        AdminPage(path="/admin", handler=show, menu="Start"),
        AdminPage(path="/admin/", handler=slash),
    ]
