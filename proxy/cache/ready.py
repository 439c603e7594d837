"""Stored responses made ready to answer plain requests: what is the same in every such answer is worked out once.

A plain request has no field that a cache's decision depends on, save those that a response varies on. To such a
request `decide` says Serve as long as the response is fresh, and `reply_from` gives all of it with an Age that
goes on by the second. Both say so here in fewer steps; tests hold the two ways to give the same bytes.
"""

from dataclasses import dataclass, field
from math import floor

from proxy.cache.directives import response_directives
from proxy.cache.entry import StoredResponse
from proxy.cache.fields import content_length, has_any, without
from proxy.cache.freshness import initial_age_s, lifetime_s
from proxy.cache.status import CacheStatus
from proxy.cache.wire import dressed, field_bytes, head_bytes
from proxy.settings import CacheSettings

_OF_THE_CONNECTION = frozenset({"connection", "transfer-encoding", "upgrade"})


@dataclass(slots=True, kw_only=True)
class Ready:
    """One stored response with the head of its answers. `stored` has its body in memory."""

    stored: StoredResponse
    body: bytes
    head: bytes
    initial_age_s: float
    lifetime_s: float
    _told: tuple[int, int] = (-1, -1)
    _tail: bytes = field(default=b"")

    def answer(self, method: str, now: float) -> bytes | None:
        """The answer to a plain GET or HEAD; None when it is for `decide` to say what is to be done."""
        here_s = now - self.stored.received_at
        age_s = self.initial_age_s + here_s
        ttl_s = self.lifetime_s - age_s
        if here_s < 0 or ttl_s <= 0:
            return None
        tail = self._tail_of(int(age_s), floor(ttl_s))
        return self.head + tail if method == "HEAD" else b"".join((self.head, tail, self.body))

    def _tail_of(self, age_s: int, ttl_s: int) -> bytes:
        """What changes by the second; of many answers within one it is written once."""
        if self._told != (age_s, ttl_s):
            fields = dressed((("Age", str(age_s)),), CacheStatus(ttl_s=ttl_s))
            self._tail = field_bytes(fields) + b"\r\n"
            self._told = (age_s, ttl_s)
        return self._tail


def made_ready(stored: StoredResponse, settings: CacheSettings) -> Ready | None:
    """None for a response that plain requests are not answered with, or not by a few bytes out of memory."""
    if stored.status != 200 or not isinstance(stored.body, bytes):
        return None
    if content_length(stored.headers) != len(stored.body) or has_any(stored.headers, _OF_THE_CONNECTION):
        return None
    if response_directives(stored.headers).unqualified("no-cache"):
        return None
    return Ready(
        stored=stored,
        body=stored.body,
        head=head_bytes(stored.status, stored.reason, without(stored.headers, "age")),
        initial_age_s=initial_age_s(stored),
        lifetime_s=lifetime_s(stored, settings),
    )
