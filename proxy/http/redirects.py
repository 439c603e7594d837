"""Redirects followed one hop at a time, so that every hop passes all checks of its own."""

from collections.abc import Awaitable, Callable

from proxy.http.errors import InvalidRedirect
from repair.model import Page
from repair.text import urls

_STATUSES = frozenset((301, 302, 303, 307, 308))


async def follow_redirects(
    get: Callable[[str], Awaitable[Page]], url: str, *, limit: int
) -> tuple[Page, tuple[Page, ...]]:
    """The page that a URL leads to, and the redirects on the way; InvalidRedirect when they end nowhere.

    `get` requests one URL, and raises for one that may not be requested.
    """
    hops: list[Page] = []
    while (page := await get(url)).status in _STATUSES:
        hops.append(page)
        if len(hops) > limit:
            raise InvalidRedirect(f"more than {limit} redirects")
        target = urls.resolve(page.url, page.header("location") or "")
        if target is None:
            raise InvalidRedirect("a redirect that leads nowhere")
        url = target
    return page, tuple(hops)
