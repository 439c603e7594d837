"""The health page and the health API call."""

from aiohttp import web

from proxy.admin.routing import AdminContext, AdminPage, ApiCall, ApiRequest, Route, render
from proxy.monitoring.health import HealthReport, health_of


def routes(admin: AdminContext) -> list[Route]:
    sources = admin.health
    if sources is None:
        return []

    async def now() -> HealthReport:
        return await health_of(
            sources,
            admin.settings(),
            responses=admin.responses,
            mementos=admin.mementos,
            held_pages=await admin.async_collection.count(),
            rules_fault=str(admin.rules.fault or "") if admin.rules is not None else "",
        )

    async def show(request: web.Request) -> web.StreamResponse:
        return render(request, "desk/health.html.jinja", title="Health", health=await now())

    async def call(given: ApiRequest) -> HealthReport:
        return await now()

    return [
        AdminPage(path="/admin/health", handler=show, menu="Health"),
        ApiCall(
            method="GET",
            path="/admin/api/health",
            handler=call,
            summary="Current state of linkmend",
            answer=HealthReport,
        ),
    ]
