"""What the cache knows of one request on its way through, from the `request` hook to the end of its answer."""

import asyncio
import hashlib
from dataclasses import dataclass

from mitmproxy import http

from addons.connections import is_unshared
from addons.flows import named_truly
from proxy.cache.entry import CacheRequest, Headers, StoredResponse
from proxy.cache.status import CacheStatus
from proxy.store.spool import Spool

Verdict = StoredResponse | int | None
"""What came of asking about a stored response: what a 304 left of it, another status, or None for no answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileAnswer:
    """A hit whose body comes from the body server: what that must say, and the headers it goes out under."""

    address: tuple[str, int]
    status: int
    length: int
    headers: Headers


@dataclass(slots=True, kw_only=True)
class Passage:
    """Changed by the hooks as the request goes on.

    `request` is what the client sent, before our own conditions were put in. `forward` is why it was sent on, in
    the words of RFC 9211, and None when it was not. `stored` is what our conditions ask about, and what may stand in
    when the origin fails if it `matches`: if it answers this request even without a 304.
    """

    request: CacheRequest
    requested_at: float
    apart: bool = False
    """Whether the store has no part in this: nothing of it answers, and nothing is stored."""
    offline: bool = False
    """Whether nobody may be asked: the line is down, or a rule says so."""
    received_at: float = 0.0
    forward: str | None = None
    forward_status: int | None = None
    stored: StoredResponse | None = None
    matches: bool = True
    conditional: bool = False
    """Whether the conditions sent to the origin are ours."""
    leads: bool = False
    """Whether others wait for this one."""
    collapsed: bool = False
    """Whether this one waited for another."""
    headers: Headers = ()
    """The origin's headers, before ours were added."""
    storable: bool = False
    unproven: bool = False
    """Whether it is stored only if the same bytes were also sent to a request without a Cookie."""
    digest: "hashlib.blake2b | None" = None
    """Of the body so far, where it is streamed and others may have been sent the same."""
    spool: Spool | None = None
    file: FileAnswer | None = None
    set_cookies: Headers = ()
    """What a 304 to our conditions gave this client, and no other."""
    detail: str = ""
    """What Cache-Status adds, such as `unreachable`."""
    verdict: asyncio.Future[Verdict] | None = None
    """Somebody waits for what comes of this question."""
    again: asyncio.Future[http.Response | None] | None = None
    """Somebody waits for the whole answer; None when there is none, or one too large to hold."""

    def status(self, *, ttl_s: float | None = None) -> CacheStatus:
        """What to tell the client of this passage."""
        return CacheStatus(
            forward=self.forward,
            forward_status=self.forward_status,
            ttl_s=ttl_s,
            stored=self.storable and not self.unproven,
            collapsed=self.collapsed,
            detail=self.detail,
        )

    def conclude(self, verdict: Verdict) -> None:
        """Tell whoever waits; the first verdict counts."""
        if self.verdict is not None and not self.verdict.done():
            self.verdict.set_result(verdict)

    def hand_over(self, response: http.Response | None) -> None:
        """The same for the whole answer."""
        if self.again is not None and not self.again.done():
            self.again.set_result(response)


def stands_apart(flow: http.HTTPFlow) -> bool:
    """Whether the store must have no part in a request.

    One that is streamed is under way already, and what we would answer comes on top of the origin's answer. A name
    that only the client vouches for is nobody's key. And of some connections nothing is anybody else's.
    """
    return bool(flow.request.stream) or not named_truly(flow) or is_unshared(flow)
