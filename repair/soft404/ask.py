"""The door to the network for probes: small, short, polite requests to the very site a reader has just reached.

Only the host and port of the page in doubt are ever asked, redirects included, and its name may lead nowhere that the
reader's own request could not go (`repair.guard`). No cookies, nothing remembered, robots.txt respected.
"""

import asyncio
import ssl
import time
from collections import OrderedDict
from collections.abc import Callable
from datetime import UTC, datetime
from urllib.parse import urlsplit
from urllib.robotparser import RobotFileParser

import aiohttp

from repair.guard import MayReach, anywhere, guarded_sockets
from repair.model import Page
from repair.urls import resolve

AGENT = "linkmend"
_USER_AGENT = "linkmend (checks whether a missing page is told honestly)"
_MAX_BYTES = 512 * 1024
_MAX_ROBOTS_BYTES = 100 * 1024
_MAX_REDIRECTS = 2
_ROBOTS_KEPT = 500
_ROBOTS_S = 86_400.0
_TIMEOUT = aiohttp.ClientTimeout(total=10.0, connect=5.0)


class Asker:
    """Asks sites about nonsense addresses. Begin with `start`, on the loop it will run on; end with `close`."""

    def __init__(
        self,
        *,
        parent: str = "",
        tls: ssl.SSLContext | bool = True,
        may_reach: MayReach = anywhere,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.parent = parent
        self._tls = tls
        self._may_reach = may_reach
        self._session: aiohttp.ClientSession | None = None
        self._clock = clock
        self._robots: OrderedDict[str, tuple[RobotFileParser | None, float]] = OrderedDict()

    async def start(self) -> None:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=8, limit_per_host=2, ssl=self._tls, socket_factory=guarded_sockets(self._may_connect)
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=_TIMEOUT,
            # Plain bodies only: what cannot grow while it is unpacked needs no limit beside that of its size.
            headers={
                "User-Agent": _USER_AGENT,
                "Accept": "text/html,application/xhtml+xml",
                "Accept-Encoding": "identity",
            },
            auto_decompress=False,
            trust_env=False,
        )

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    def _may_connect(self, address: str, port: int) -> bool:
        """With a parent, it is the only one connected to, and the admin has chosen it."""
        return bool(self.parent) or self._may_reach(address, port)

    async def ask(self, url: str) -> Page | None:
        """What is at an address; None when robots.txt forbids it, or it is elsewhere, or nobody answers."""
        if not await self._allowed(url):
            return None
        return await self._fetched(url, _MAX_BYTES)

    async def _fetched(self, url: str, limit: int) -> Page | None:
        """Up to a few redirects on the same host and port are followed."""
        place = urlsplit(url).netloc
        for _ in range(_MAX_REDIRECTS + 1):
            page = await self._once(url, limit)
            if page is None or page.status not in (301, 302, 303, 307, 308):
                return page
            target = resolve(url, page.header("location") or "")
            if target is None or urlsplit(target).netloc != place:
                return None
            url = target
        return None

    async def _once(self, url: str, limit: int) -> Page | None:
        if self._session is None:
            return None
        try:
            async with self._session.get(url, allow_redirects=False, proxy=self.parent or None) as answer:
                body = await answer.content.read(limit + 1)
                while len(body) <= limit and (more := await answer.content.read(limit + 1 - len(body))):
                    body += more
        except (aiohttp.ClientError, TimeoutError, ValueError, OSError):
            return None
        if len(body) > limit:
            return None
        return Page(
            url=url,
            status=answer.status,
            headers=tuple(answer.headers.items()),
            body=body,
            fetched_at=datetime.now(UTC),
        )

    async def _allowed(self, url: str) -> bool:
        """By the site's robots.txt, asked for once a day; a site that does not answer sanely is left alone."""
        parts = urlsplit(url)
        site = f"{parts.scheme}://{parts.netloc}"
        rules, read_at = self._robots.get(site, (None, float("-inf")))
        if self._clock() - read_at > _ROBOTS_S:
            rules = await self._rules(site)
            self._robots[site] = (rules, self._clock())
            while len(self._robots) > _ROBOTS_KEPT:
                self._robots.popitem(last=False)
        return rules is not None and rules.can_fetch(AGENT, url)

    async def _rules(self, site: str) -> RobotFileParser | None:
        page = await self._fetched(f"{site}/robots.txt", _MAX_ROBOTS_BYTES)
        if page is None or page.status in (401, 403) or page.status >= 500:
            return None
        rules = RobotFileParser()
        text = page.body.decode("utf-8", "replace") if page.status == 200 else ""
        await asyncio.to_thread(rules.parse, text.splitlines())
        return rules
