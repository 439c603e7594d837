"""The page and the call that tell how linkmend fares."""

from aiohttp import web

from proxy.desk.frame import Call, Desk, Given, Page, Route, render
from proxy.desk.health import Health, health_of


def routes(desk: Desk) -> list[Route]:
    sources = desk.health
    if sources is None:
        return []

    async def now() -> Health:
        return await health_of(
            sources,
            desk.settings(),
            responses=desk.responses,
            mementos=desk.mementos,
            held_pages=await desk.reader.count(),
            rules_fault=str(desk.rules.fault or "") if desk.rules is not None else "",
        )

    async def show(request: web.Request) -> web.StreamResponse:
        return render(request, "desk/health.html.jinja", title="Health", health=await now())

    async def call(given: Given) -> Health:
        return await now()

    return [
        Page(path="/admin/health", handler=show, menu="Health"),
        Call(
            method="GET",
            path="/admin/api/health",
            handler=call,
            summary="How linkmend fares at this moment",
            answer=Health,
        ),
    ]
