"""What the cache knows of one request on its way through, from the `request` hook to the end of its answer."""

import asyncio
from dataclasses import dataclass

from proxy.cache.entry import CacheRequest, Headers, StoredResponse
from proxy.cache.status import CacheStatus
from proxy.store.spool import Spool

Verdict = StoredResponse | int | None
"""What came of asking about a stored response: what a 304 left of it, another status, or None for no answer."""


@dataclass(slots=True, kw_only=True)
class Passage:
    """Changed by the hooks as the request goes on.

    `request` is what the client sent, before our own conditions were put in. `forward` is why it was sent on, in
    the words of RFC 9211, and None when it was not. `stored` is what our conditions ask about, and what may stand in
    when the origin fails if it `matches`: if it answers this request even without a 304.
    """

    request: CacheRequest
    requested_at: float
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
    spool: Spool | None = None
    file_headers: Headers | None = None
    """The headers of a hit whose body comes from the body server."""
    detail: str = ""
    """What Cache-Status adds, such as `unreachable`."""
    verdict: asyncio.Future[Verdict] | None = None
    """Somebody waits for what comes of this question."""

    def status(self, *, ttl_s: float | None = None) -> CacheStatus:
        """What to tell the client of this passage."""
        return CacheStatus(
            forward=self.forward,
            forward_status=self.forward_status,
            ttl_s=ttl_s,
            stored=self.storable,
            collapsed=self.collapsed,
            detail=self.detail,
        )

    def conclude(self, verdict: Verdict) -> None:
        """Tell whoever waits; the first verdict counts."""
        if self.verdict is not None and not self.verdict.done():
            self.verdict.set_result(verdict)
