"""Probes: small, short, polite requests to the very site that a user has just reached.

Only the host and port of the page in doubt are ever asked, redirects included. robots.txt is respected, and so is the
turn at the host of a crawl or a fetch that is under way.
"""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, nullcontext
from urllib.parse import urlsplit

from proxy.http.errors import InvalidRedirect
from proxy.http.redirects import follow_redirects
from proxy.http.robots import RobotsRules
from repair.fetch import FetchError, FetchLimits, PageFetcher
from repair.model import Page
from repair.text import urls

PURPOSE = "checks whether a missing page is told honestly"
_MAX_BYTES = 512 * 1024
_MAX_REDIRECTS = 2
_TOTAL_S, _CONNECT_S = 10.0, 5.0
_TURN_S = 30.0  # then the page stays in doubt
# Plain bodies only: what cannot grow while it is unpacked needs no limit beside that of its size.
_HEADERS = {"Accept": "text/html,application/xhtml+xml", "Accept-Encoding": "identity"}


class SiteProber:
    """Asks sites about addresses that cannot be there (`repair.soft404.probe`)."""

    def __init__(
        self,
        client: PageFetcher,
        turn_at: Callable[[str], AbstractAsyncContextManager[None]] = lambda host: nullcontext(),
    ) -> None:
        """`turn_at` waits until nobody else of ours asks a host (`host:port`)."""
        self._client = client
        self._turn_at = turn_at
        self._robots = RobotsRules(self._get)

    async def ask(self, url: str) -> Page | None:
        """What is at an address; None when robots.txt forbids it, or it is elsewhere, or nobody answers, or the host
        is busy with requests of ours for too long."""
        try:
            async with asyncio.timeout(_TURN_S), AsyncExitStack() as turn:
                await turn.enter_async_context(self._turn_at(urls.parse(url).authority))
                held = turn.pop_all()
            async with held:
                await self._robots.check(url)
                return await self._get(url, _MAX_BYTES)
        except (FetchError, TimeoutError, ValueError):
            return None

    async def close(self) -> None:
        await self._client.close()

    async def _get(self, url: str, max_bytes: int) -> Page:
        authority = urlsplit(url).netloc
        limits = FetchLimits(max_bytes=max_bytes, timeout_s=_TOTAL_S, connect_s=_CONNECT_S)

        async def get(address: str) -> Page:
            if urlsplit(address).netloc != authority:
                raise InvalidRedirect("a redirect to another site")
            return await self._client.get(address, limits=limits, headers=_HEADERS)

        return (await follow_redirects(get, url, limit=_MAX_REDIRECTS))[0]
