"""The health page and the health API call."""

from aiohttp import web

from proxy.admin.routing import AdminContext, AdminPage, ApiCall, ApiRequest, Route, render
from proxy.monitoring.health import HealthReport, HealthSources, health_of
from proxy.monitoring.problemgroups import group_problems
from proxy.pages.desktexts import tr


def routes(admin: AdminContext) -> list[Route]:
    sources = admin.health
    if sources is None:
        return []

    async def show(request: web.Request) -> web.StreamResponse:
        report = await _report(admin, sources)
        problems = group_problems(report.problems)
        return render(request, "desk/health.html.jinja", title=tr("Health"), health=report, problems=problems)

    async def call(given: ApiRequest) -> HealthReport:
        return await _report(admin, sources)

    return [
        AdminPage(path="/admin/health", handler=show, menu=tr("Health")),
        ApiCall(
            method="GET",
            path="/admin/api/health",
            handler=call,
            summary="Current state of linkmend",
            answer=HealthReport,
        ),
    ]


async def report_of(admin: AdminContext) -> HealthReport | None:
    """The state at this moment; None where it is not known."""
    return None if admin.health is None else await _report(admin, admin.health)


async def _report(admin: AdminContext, sources: HealthSources) -> HealthReport:
    return await health_of(
        sources,
        admin.settings(),
        responses=admin.responses,
        mementos=admin.mementos,
        held_pages=await admin.async_collection.count(),
        rules_fault=str(admin.rules.fault or "") if admin.rules is not None else "",
    )
