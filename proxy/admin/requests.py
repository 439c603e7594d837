"""What teachers ask the admin for: pages to unblock."""

import asyncio
from datetime import UTC, datetime

from aiohttp import web

from proxy.admin.misses.views import shown_address
from proxy.admin.routing import (
    AdminContext,
    AdminPage,
    ApiProblem,
    Route,
    form,
    page_request_of,
    render,
    see_other,
)
from proxy.pages.desktexts import tr

PATH = "/admin/requests"


def routes(admin: AdminContext) -> list[Route]:
    lessons = admin.lessons
    if lessons is None:
        return []

    async def show(request: web.Request) -> web.StreamResponse:
        asked = await asyncio.to_thread(lessons.store.requests)
        rows = [(each, datetime.fromtimestamp(each.asked_at, UTC)) for each in asked]
        return render(
            request, "desk/requests.html.jinja", title=tr("Requests"), rows=rows, shown_address=shown_address
        )

    async def settle(request: web.Request) -> web.StreamResponse:
        number = (await form(request)).get("id", "")
        if not (number.isascii() and number.isdigit() and len(number) < 16):
            raise ApiProblem(400, tr("the form names no request"))
        page_request_of(request).about = f"request {number}"
        gone = await asyncio.to_thread(lessons.store.settle, int(number))
        return see_other(
            request, PATH, notice=tr("Settled.") if gone else tr("This request is no longer there.")
        )

    return [
        AdminPage(path=PATH, handler=show, menu=tr("Requests")),
        AdminPage(path=f"{PATH}/settle", handler=settle, method="POST"),
    ]
