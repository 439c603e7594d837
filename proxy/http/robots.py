"""robots.txt (RFC 9309): asked for once a day and site, bounded, and obeyed. Protego reads it.

A site that has none, or says so by a 4xx, allows everything; one that fails is asked again later, since what it
forbids is not known.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import islice

from protego import Protego

from proxy.http.client import AGENT
from proxy.http.errors import (
    InvalidRedirect,
    InvalidTarget,
    RobotsDisallowed,
    RobotsUnavailable,
    UntrustedCertificate,
)
from repair.fetch import TooLarge
from repair.model import Page
from repair.parse import decode
from repair.text import urls

MAX_BYTES = 512_000  # RFC 9309 section 2.5 asks for 500 KiB at least
_KEPT_S = 86_400.0
_KEPT_SITES = 500
_KEPT_CHARACTERS = 2_000_000  # rules take many times the memory of their text
_AGAIN_S = 600.0
_PLAIN_CHARACTERS = 2_000
_PLAIN_STARS = 1  # the one of `User-agent: *`; a second would be in a path
_LONGEST_PAUSE_S = 30.0
_MAX_SITEMAPS = 10

GetRobots = Callable[[str, int], Awaitable[Page]]
"""Fetches one URL of so many bytes at most, redirects followed; raises FetchError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    rules: Protego
    size: int
    is_plain: bool
    """Few rules, without a pattern that takes long to match."""
    until: float


class RobotsRules:
    """What sites allow. For one event loop."""

    def __init__(self, get: GetRobots, clock: Callable[[], float] = time.monotonic) -> None:
        self._get = get
        self._clock = clock
        self._known: OrderedDict[str, _Known] = OrderedDict()

    async def check(self, url: str) -> float:
        """The pause that the site wants between requests, 0 when it does not say.

        Raises RobotsDisallowed, RobotsUnavailable when the site cannot say now, and what `get` raises.
        """
        try:
            parts = urls.parse(url)
        except ValueError:
            raise InvalidTarget("not a web address") from None
        known = await self._rules(f"{parts.scheme}://{parts.authority}")
        may_fetch = known.rules.can_fetch
        # Else in a thread: rules and address are the site's to choose, and thousands of them take a while.
        if not (may_fetch(url, AGENT) if known.is_plain else await asyncio.to_thread(may_fetch, url, AGENT)):
            raise RobotsDisallowed("robots.txt disallows it")
        return min(known.rules.crawl_delay(AGENT) or 0.0, _LONGEST_PAUSE_S)

    async def sitemaps(self, site: str) -> tuple[str, ...]:
        """The sitemaps that a site (`https://host`) names; raises as `check` does."""
        return tuple(islice((await self._rules(site)).rules.sitemaps, _MAX_SITEMAPS))

    async def _rules(self, site: str) -> _Known:
        known = self._known.get(site)
        return await self._read(site) if known is None or known.until <= self._clock() else known

    async def _read(self, site: str) -> _Known:
        text = await self._text(f"{site}/robots.txt")
        rules = await asyncio.to_thread(Protego.parse, text)
        known = _Known(
            rules=rules,
            size=len(text),
            is_plain=len(text) <= _PLAIN_CHARACTERS and text.count("*") <= _PLAIN_STARS,
            until=self._clock() + _KEPT_S,
        )
        self._known.pop(site, None)
        self._known[site] = known
        while len(self._known) > 1 and self._is_too_much():
            self._known.popitem(last=False)
        return known

    async def _text(self, url: str) -> str:
        try:
            page = await self._get(url, MAX_BYTES)
        except (TooLarge, InvalidRedirect, UntrustedCertificate) as error:
            raise type(error)(f"robots.txt: {error}") from error
        if page.status == 429 or page.status >= 500:
            raise RobotsUnavailable(f"robots.txt: status {page.status}", after_s=_AGAIN_S)
        if page.status != 200:
            return ""
        text = await asyncio.to_thread(decode.body_text, page, MAX_BYTES)
        if text is None:
            raise RobotsUnavailable("robots.txt: too large, or cannot be decompressed", after_s=_AGAIN_S)
        return text

    def _is_too_much(self) -> bool:
        return (
            len(self._known) > _KEPT_SITES
            or sum(known.size for known in self._known.values()) > _KEPT_CHARACTERS
        )
