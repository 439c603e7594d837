"""One page fetched politely: robots.txt, a turn at each host, redirects one by one, and what a status means."""

import email.utils
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType

from proxy.fetching.entries import (
    FetchFailure,
    FetchRefused,
    NoConnectivity,
    PageGone,
    PermanentFetchError,
    TemporaryFetchError,
)
from proxy.fetching.politeness import HostSlots
from proxy.http.client import HttpClient, OnBytes, ignore_bytes
from proxy.http.errors import (
    ForbiddenTarget,
    InvalidRedirect,
    InvalidTarget,
    NoConnection,
    RobotsDisallowed,
    RobotsUnavailable,
    UntrustedCertificate,
)
from proxy.http.redirects import follow_redirects
from proxy.http.robots import RobotsRules
from repair.fetch import FetchError, FetchLimits, TooLarge
from repair.model import Page
from repair.secrets.addresses import has_secret
from repair.text import urls
from repair.text.publichosts import leads_inside

MAX_REDIRECTS = 5
_GOOD = frozenset((200, 203))
_NOT_MODIFIED = 304
_GONE = frozenset((404, 410))
_NO_FIELDS: Mapping[str, str] = MappingProxyType({})
_LATER = frozenset((408, 425, 429))
_BUSY = frozenset((429, 503))  # what they say of Retry-After is meant for the whole host
_LONGEST_WAIT_S = 86_400.0
_DOCUMENT = "text/html,application/xhtml+xml,*/*;q=0.8"
_ANYTHING = "*/*"
_CODINGS = "gzip, br"
_ROBOTS_S = 30.0
_REFUSED_BY_HOST = "111"  # ECONNREFUSED, as Squid tells it: somebody was there


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedPage:
    """A page that is there, and the redirects on the way to it, in their order."""

    page: Page
    redirects: tuple[Page, ...] = ()


class Fetcher:
    """Fetches pages with a client. For one event loop."""

    def __init__(
        self,
        client: HttpClient,
        host_slots: HostSlots,
        *,
        check: Callable[[str], None],
        pause_s: Callable[[], float],
        behind_parent: Callable[[], bool],
    ) -> None:
        """`check` raises FetchRefused for a forbidden address; `pause_s` lies between two requests to a
        host; X-Squid-Error is believed only `behind_parent`."""
        self._client = client
        self._host_slots = host_slots
        self._check = check
        self._pause_s = pause_s
        self._behind_parent = behind_parent
        self._robots = RobotsRules(self._robots_page)

    async def fetch(
        self,
        url: str,
        *,
        limits: FetchLimits,
        on_bytes: OnBytes = ignore_bytes,
        validators: Mapping[str, str] = _NO_FIELDS,
    ) -> FetchedPage:
        """A page, redirects followed. Raises FetchFailure: also for every status that is no success.

        With `validators` (If-None-Match, If-Modified-Since) it may be a 304 without a body.
        """

        async def get(address: str) -> Page:
            if has_secret(address):
                raise FetchRefused("redirects to a personal address (contains a name, a session or a token)")
            self._check(address)
            _check_inside(url, address)
            pause_s = max(await self._robots.check(address), self._pause_s())
            asked = validators if address == url else _NO_FIELDS
            return await self._once(
                address, limits, pause_s=pause_s, accept=_DOCUMENT, on_bytes=on_bytes, validators=asked
            )

        with _troubles():
            page, redirects = await follow_redirects(get, url, limit=MAX_REDIRECTS)
        if not (validators and not redirects and page.status == _NOT_MODIFIED):
            self._judge(page)
        return FetchedPage(page=page, redirects=redirects)

    async def sitemaps(self, site: str) -> tuple[str, ...]:
        """The sitemaps that the robots.txt of a site (`https://host`) names. Raises FetchFailure."""
        with _troubles():
            return await self._robots.sitemaps(site)

    async def fetch_part(self, url: str, *, of_page: str, limits: FetchLimits) -> Page:
        """A picture or the like that belongs to a page; no redirects, and no pause: a browser would make none."""
        self._check(url)
        with _troubles():
            _check_inside(of_page, url)
            await self._robots.check(url)
            page = await self._once(url, limits, accept=_ANYTHING)
        self._judge(page)
        return page

    async def _robots_page(self, url: str, max_bytes: int) -> Page:
        limits = FetchLimits(max_bytes=max_bytes, timeout_s=_ROBOTS_S)

        async def get(address: str) -> Page:
            _check_inside(url, address)
            return await self._once(address, limits, accept="text/plain,*/*;q=0.8")

        return (await follow_redirects(get, url, limit=MAX_REDIRECTS))[0]

    async def _once(
        self,
        url: str,
        limits: FetchLimits,
        *,
        accept: str,
        pause_s: float = 0.0,
        on_bytes: OnBytes = ignore_bytes,
        validators: Mapping[str, str] = _NO_FIELDS,
    ) -> Page:
        headers = {"Accept": accept, "Accept-Encoding": _CODINGS, **validators}
        host = urls.parse(url).authority
        async with self._host_slots.at(host, pause_s=pause_s):
            page = await self._client.get(url, limits=limits, headers=headers, on_bytes=on_bytes)
        if page.status in _BUSY and (rest_s := _asked_to_wait_s(page)):
            await self._host_slots.rest(host, rest_s)
        fault = page.header("x-squid-error") if self._behind_parent() else None
        if fault is not None and not fault.endswith(_REFUSED_BY_HOST):
            raise NoConnectivity(f"the parent proxy could not reach the site: {fault[:80]}")
        return page

    def _judge(self, page: Page) -> None:
        if page.status in _GOOD:
            return
        reason = f"the site answered with status {page.status}"
        if page.status in _LATER or page.status >= 500:
            raise TemporaryFetchError(reason, after_s=_asked_to_wait_s(page))
        raise (PageGone if page.status in _GONE else PermanentFetchError)(reason)


def _check_inside(url: str, further: str) -> None:
    """Raises ForbiddenTarget where a public page leads into a private network: nobody here has asked for it."""
    if leads_inside(urls.parse(url).host, urls.parse(further).host):
        raise ForbiddenTarget("leads from a public page into a private network")


@contextmanager
def _troubles() -> Iterator[None]:
    """What an error of the client means for the page."""
    try:
        yield
    except FetchError as error:
        raise _as_trouble(error) from error


def _as_trouble(error: FetchError) -> FetchFailure:
    match error:
        case ForbiddenTarget() | RobotsDisallowed():
            return FetchRefused(str(error))
        case TooLarge() | InvalidTarget() | InvalidRedirect() | UntrustedCertificate():
            return PermanentFetchError(str(error))
        case NoConnection():
            return NoConnectivity(str(error))
        case RobotsUnavailable():
            return TemporaryFetchError(str(error), after_s=error.after_s)
        case _:
            return TemporaryFetchError(str(error))


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
