"""One page fetched politely: robots.txt, a turn at each host, redirects one by one, and what a status means."""

import email.utils
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from proxy.fetching.door import Door, Limits, OnBytes
from proxy.fetching.entries import Lasting, NoLine, Passing, Refusal
from proxy.fetching.pace import Turns
from proxy.fetching.robots import Robots
from proxy.readers.privacy import is_personal_url
from repair import urls
from repair.model import Page

MAX_REDIRECTS = 5
_REDIRECTS = frozenset((301, 302, 303, 307, 308))
_GOOD = frozenset((200, 203))
_LATER = frozenset((408, 425, 429))
_LONGEST_WAIT_S = 86_400.0
_DOCUMENT = "text/html,application/xhtml+xml,*/*;q=0.8"
_ANYTHING = "*/*"
_REFUSED_BY_HOST = "111"  # ECONNREFUSED, as Squid tells it: somebody was there


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """A page that is there, and the redirects on the way to it, in their order."""

    page: Page
    redirects: tuple[Page, ...] = ()


def _nobody(received: int, expected: int) -> None:
    """Nobody wants to know."""


class Fetcher:
    """Fetches pages through a door. For one event loop."""

    def __init__(
        self,
        door: Door,
        turns: Turns,
        *,
        check: Callable[[str], None],
        pause_s: Callable[[], float],
        behind_parent: Callable[[], bool],
    ) -> None:
        """`check` raises Refusal for an address that may not be fetched; `pause_s` lies between two requests to a
        host; X-Squid-Error is believed only `behind_parent`."""
        self._door = door
        self._turns = turns
        self._check = check
        self._pause_s = pause_s
        self._behind_parent = behind_parent
        self._robots = Robots(self._robots_page)

    async def fetch(self, url: str, *, limits: Limits, on_bytes: OnBytes = _nobody) -> Fetched:
        """A page, redirects followed. Raises FetchTrouble: also for every status that is no success."""
        redirects: list[Page] = []
        while True:
            if is_personal_url(url):
                raise Refusal("leads to a personal address (a name, a session or a token)")
            self._check(url)
            pause_s = max(await self._robots.check(url), self._pause_s())
            page = await self._once(url, limits, pause_s=pause_s, accept=_DOCUMENT, on_bytes=on_bytes)
            if page.status not in _REDIRECTS:
                self._judge(page)
                return Fetched(page=page, redirects=tuple(redirects))
            redirects.append(page)
            if len(redirects) > MAX_REDIRECTS:
                raise Lasting(f"more than {MAX_REDIRECTS} redirects")
            url = _target(page)

    async def fetch_part(self, url: str, *, limits: Limits) -> Page:
        """A picture or the like that belongs to a page; no redirects, and no pause: a browser would make none."""
        self._check(url)
        await self._robots.check(url)
        page = await self._once(url, limits, pause_s=0.0, accept=_ANYTHING, on_bytes=_nobody)
        self._judge(page)
        return page

    async def _robots_page(self, url: str, limits: Limits) -> Page:
        for _ in range(MAX_REDIRECTS + 1):
            page = await self._once(url, limits, pause_s=0.0, accept="text/plain,*/*;q=0.8", on_bytes=_nobody)
            if page.status not in _REDIRECTS:
                return page
            url = _target(page)
        raise Lasting(f"more than {MAX_REDIRECTS} redirects")

    async def _once(
        self, url: str, limits: Limits, *, pause_s: float, accept: str, on_bytes: OnBytes
    ) -> Page:
        async with self._turns.at(urls.parse(url).authority, pause_s=pause_s):
            page = await self._door.get(url, limits=limits, accept=accept, on_bytes=on_bytes)
        fault = page.header("x-squid-error") if self._behind_parent() else None
        if fault is not None and not fault.endswith(_REFUSED_BY_HOST):
            raise NoLine(f"the parent could not reach it: {fault[:80]}")
        return page

    def _judge(self, page: Page) -> None:
        if page.status in _GOOD:
            return
        told = f"the site answers {page.status}"
        if page.status in _LATER or page.status >= 500:
            raise Passing(told, after_s=_asked_to_wait_s(page))
        raise Lasting(told)


def _target(page: Page) -> str:
    target = urls.resolve(page.url, page.header("location") or "")
    if target is None:
        raise Lasting("a redirect that leads nowhere")
    return target


def _asked_to_wait_s(page: Page) -> float:
    """What Retry-After says, as seconds or as a date; 0 when it makes no sense."""
    text = (page.header("retry-after") or "").strip()
    if text.isascii() and text.isdigit() and len(text) < 10:
        return min(float(text), _LONGEST_WAIT_S)
    try:
        at = email.utils.parsedate_to_datetime(text)
    except (TypeError, ValueError):
        return 0.0
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return min(max(0.0, (at - datetime.now(UTC)).total_seconds()), _LONGEST_WAIT_S)
