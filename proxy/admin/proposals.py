"""What teachers propose for everybody, with approve, refuse and undo; and what pupils looked for in vain."""

import asyncio
from datetime import UTC, datetime
from urllib.parse import urlsplit

from aiohttp import web

from proxy.admin.misses.views import shown_address
from proxy.admin.routing import (
    AdminContext,
    AdminPage,
    Handler,
    Route,
    form,
    page_request_of,
    render,
    see_other,
)
from proxy.admin.teach.mypages import number_of
from proxy.lessons.fixes import Fixes
from proxy.lessons.model import Proposal
from proxy.lessons.teacherstore import TeacherStore
from proxy.pages.desktexts import tr

PROPOSALS, SUGGESTIONS = "/admin/proposals", "/admin/suggestions"
_GONE = tr("Somebody else has decided this already.")


def routes(admin: AdminContext) -> list[Route]:
    if admin.lessons is None:
        return []
    fixes, store = admin.lessons.fixes, admin.lessons.teachers
    changes = {
        "approve": _deciding(fixes, "approve", tr("Approved: it is offered first from now on.")),
        "refuse": _deciding(fixes, "refuse", tr("Refused.")),
        "undo": _deciding(fixes, "undo", tr("Undone: it waits for a decision again.")),
    }

    async def show(request: web.Request) -> web.StreamResponse:
        found = await asyncio.to_thread(store.proposals)
        return render(
            request,
            "desk/proposals.html.jinja",
            title=tr("Proposals"),
            rows=[(each, datetime.fromtimestamp(each.at, UTC)) for each in found],
            shown_address=shown_address,
        )

    return [
        AdminPage(path=PROPOSALS, handler=show, menu=tr("Proposals")),
        *(
            AdminPage(path=f"{PROPOSALS}/{name}", handler=each, method="POST")
            for name, each in changes.items()
        ),
        *_suggestions(store),
    ]


def _deciding(fixes: Fixes, action: str, notice: str) -> Handler:
    async def decide(request: web.Request) -> web.StreamResponse:
        number, visit = number_of(await form(request)), page_request_of(request)
        done: Proposal | None = await asyncio.to_thread(getattr(fixes, action), number, visit.account)
        site = urlsplit(done.url).hostname if done is not None else ""
        visit.about = f"proposal {number} of {done.by}, {site}" if done is not None else f"proposal {number}"
        return see_other(request, PROPOSALS, notice=notice if done is not None else _GONE)

    return decide


def _suggestions(store: TeacherStore) -> list[Route]:
    async def show(request: web.Request) -> web.StreamResponse:
        return render(
            request,
            "desk/suggestions.html.jinja",
            title=tr("Suggestions"),
            rows=await asyncio.to_thread(store.suggestions, ""),
            shown_address=shown_address,
        )

    async def settle(request: web.Request) -> web.StreamResponse:
        number = number_of(await form(request))
        page_request_of(request).about = f"suggestion {number}"
        gone = await asyncio.to_thread(store.settle, number, "")
        return see_other(request, SUGGESTIONS, notice=tr("Done.") if gone else tr("It is no longer there."))

    return [
        AdminPage(path=SUGGESTIONS, handler=show, menu=tr("Suggestions")),
        AdminPage(path=f"{SUGGESTIONS}/done", handler=settle, method="POST"),
    ]
