"""The forms about missed pages: each does one deed and goes back to where it was sent from."""

from collections.abc import Awaitable, Callable

from aiohttp import web

from proxy.desk.frame import Page, Problem, Route, form, see_other
from proxy.desk.missdeeds import Deeds
from proxy.desk.missviews import LIST_PATH

_MAX_URL = 4_000
Deed = Callable[[dict[str, str]], Awaitable[str]]
"""What is done with the fields of a form; what the next page says."""


def routes(deeds: Deeds) -> list[Route]:
    async def pin(fields: dict[str, str]) -> str:
        pinned = await deeds.pin(_url(fields), fields.get("target", ""))
        return f"Pinned: readers who miss this address are offered {pinned.target[:200]} first."

    async def unpin(fields: dict[str, str]) -> str:
        await deeds.unpin(_url(fields))
        return "No longer pinned."

    async def ignore(fields: dict[str, str]) -> str:
        await deeds.mark(_url(fields), "ignored")
        return "Ignored from now on. Under Decisions it can be taken back."

    async def heed(fields: dict[str, str]) -> str:
        await deeds.unmark(_url(fields), "ignored")
        return "It is listed again."

    async def wrong(fields: dict[str, str]) -> str:
        await deeds.mark(_url(fields), "wrong")
        return "The page will be shown the next time somebody opens it."

    async def right(fields: dict[str, str]) -> str:
        await deeds.unmark(_url(fields), "wrong")
        return "The page is judged again like any other."

    async def fetch(fields: dict[str, str]) -> str:
        if fields.get("when") == "now":
            await deeds.fetch(_url(fields), "now")
            return "It is being fetched; the fetch queue shows what becomes of it."
        await deeds.fetch(_url(fields), "line")
        return "It will be fetched when the line is up."

    async def redirect(fields: dict[str, str]) -> str:
        await deeds.redirect(_url(fields), fields.get("to", ""))
        return "The rule is in force."

    async def forget_choice(fields: dict[str, str]) -> str:
        gone = await deeds.forget_choice(_url(fields), fields.get("chosen", ""))
        return "Forgotten: it has no say any more." if gone else "It was forgotten already."

    async def erase(fields: dict[str, str]) -> str:
        if fields.get("sure") != "yes":
            raise Problem(400, "say that you are sure")
        return f"Erased, with {await deeds.erase(_url(fields))} misses."

    named = {
        "pin": pin,
        "unpin": unpin,
        "ignore": ignore,
        "heed": heed,
        "wrong": wrong,
        "right": right,
        "fetch": fetch,
        "redirect": redirect,
        "forget-choice": forget_choice,
        "erase": erase,
    }
    return [
        Page(path=f"/admin/misses/{name}", method="POST", handler=_done(deed)) for name, deed in named.items()
    ]


def _done(deed: Deed) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def handle(request: web.Request) -> web.StreamResponse:
        fields = await form(request)
        return see_other(request, fields.get("back", LIST_PATH), notice=await deed(fields))

    return handle


def _url(fields: dict[str, str]) -> str:
    url = fields.get("url", "")
    if not 0 < len(url) <= _MAX_URL:
        raise Problem(400, "the form names no address")
    return url
