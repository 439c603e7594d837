"""The forms about missed pages: each runs one action and returns to the page it was sent from."""

from collections.abc import Awaitable, Callable

from aiohttp import web

from proxy.admin.misses.actions import MissActions
from proxy.admin.misses.views import LIST_PATH
from proxy.admin.routing import AdminPage, ApiProblem, Route, form, form_fields, see_other
from proxy.pages.desktexts import tr

_MAX_URL = 4_000
_MAX_REASONS = 3
FormAction = Callable[[dict[str, str]], Awaitable[str]]
"""Takes the fields of a form; returns the notice on the next page."""


def routes(actions: MissActions) -> list[Route]:
    async def pin(fields: dict[str, str]) -> str:
        pinned = await actions.pin(_url(fields), fields.get("target", ""))
        return tr("Pinned. The repair page now suggests {target} first.", target=pinned.target[:200])

    async def unpin(fields: dict[str, str]) -> str:
        await actions.unpin(_url(fields))
        return tr("Unpinned.")

    async def ignore(fields: dict[str, str]) -> str:
        await actions.mark(_url(fields), "ignored")
        return tr("Ignored. You can undo this under Pins and decisions.")

    async def heed(fields: dict[str, str]) -> str:
        await actions.unmark(_url(fields), "ignored")
        return tr("No longer ignored.")

    async def wrong(fields: dict[str, str]) -> str:
        await actions.mark(_url(fields), "wrong")
        return tr("Marked as not an error page. linkmend shows it from now on.")

    async def right(fields: dict[str, str]) -> str:
        await actions.unmark(_url(fields), "wrong")
        return tr("linkmend checks this page again from now on.")

    async def fetch(fields: dict[str, str]) -> str:
        if fields.get("when") == "now":
            await actions.fetch(_url(fields), "now")
            return tr("Fetching. See the fetch queue for progress.")
        if fields.get("when") == "night":
            await actions.fetch(_url(fields), "night")
            return tr("It will be fetched tonight.")
        await actions.fetch(_url(fields), "line")
        return tr("It will be fetched when online.")

    async def redirect(fields: dict[str, str]) -> str:
        await actions.redirect(_url(fields), fields.get("to", ""))
        return tr("Redirect rule added. It is in force now.")

    async def unredirect(fields: dict[str, str]) -> str:
        await actions.unredirect(_url(fields))
        return tr("Redirect removed.")

    async def forget_choice(fields: dict[str, str]) -> str:
        gone = await actions.forget_choice(_url(fields), fields.get("chosen", ""))
        return tr("Choice deleted. It no longer counts.") if gone else tr("This choice was already deleted.")

    async def erase(fields: dict[str, str]) -> str:
        if fields.get("sure") != "yes":
            raise ApiProblem(400, tr("tick the box to confirm"))
        return tr("Deleted. Log entries removed: {count}.", count=await actions.erase(_url(fields)))

    async def several(request: web.Request) -> web.StreamResponse:
        """One action on all selected addresses, or on all that are listed."""
        pairs = await form_fields(request)
        fields = dict(pairs)
        chosen = "listed" if fields.get("all") else "url"
        act = {
            "ignore": ignore,
            "heed": heed,
            "fetch": fetch,
            "night": lambda each: fetch({**each, "when": "night"}),
        }.get(fields.get("do", ""))
        if act is None:
            raise ApiProblem(400, tr("the form names no action"))
        done, failed = await _act_on(act, [value for name, value in pairs if name == chosen])
        notice = tr("Done. Addresses: {done}.", done=done)
        if failed:
            notice = tr(
                "Done. Addresses: {done}. Not done: {failed} ({reasons}).",
                done=done,
                failed=len(failed),
                reasons="; ".join(failed[:_MAX_REASONS]),
            )
        return see_other(request, fields.get("back", LIST_PATH), notice=notice)

    named = {
        "pin": pin,
        "unpin": unpin,
        "ignore": ignore,
        "heed": heed,
        "wrong": wrong,
        "right": right,
        "fetch": fetch,
        "redirect": redirect,
        "unredirect": unredirect,
        "forget-choice": forget_choice,
        "erase": erase,
    }
    return [
        AdminPage(path="/admin/misses/several", method="POST", handler=several),
        *(
            AdminPage(path=f"/admin/misses/{name}", method="POST", handler=_handler_of(action))
            for name, action in named.items()
        ),
    ]


async def _act_on(action: FormAction, addresses: list[str]) -> tuple[int, list[str]]:
    """How many addresses the action was done for, and why not for the others."""
    if not addresses:
        raise ApiProblem(400, tr("no address is selected"))
    done, failed = 0, []
    for url in dict.fromkeys(addresses):
        try:
            await action({"url": url})
            done += 1
        except ApiProblem as problem:
            failed.append(f"{url[:100]}: {problem.detail}")
    return done, failed


def _handler_of(action: FormAction) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def handle(request: web.Request) -> web.StreamResponse:
        fields = await form(request)
        return see_other(request, fields.get("back", LIST_PATH), notice=await action(fields))

    return handle


def _url(fields: dict[str, str]) -> str:
    url = fields.get("url", "")
    if not 0 < len(url) <= _MAX_URL:
        raise ApiProblem(400, tr("the form has no address"))
    return url
