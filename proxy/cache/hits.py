"""The answer that a stored response gives: the whole, a part, only the headers, or 304. The one engine for all hits.

The addon (addons/cache.py) and the fast path below it get their answers here, from the same values. An answer has two
parts. The fixed part depends on the request and the stored response alone. The moving part is Age, Via and
Cache-Status, and changes by the second.

A plain request has no field that a cache's decision depends on, save those that a response varies on. So all plain
requests get the same fixed part, and within one second the same answer: `PlainHit` remembers both.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from proxy.cache.decide import ServeStored, decide, is_usable
from proxy.cache.freshness import terms_of
from proxy.cache.ranges import ByteRange, wanted_part
from proxy.cache.serialize import field_bytes, head_bytes, with_cache_headers
from proxy.cache.status import CacheStatus
from proxy.cache.validation import is_not_modified
from proxy.headers.cachecontrol import request_directives
from proxy.headers.fields import content_length, has_any, without
from proxy.messages import CacheRequest, FileBody, Headers, StoredResponse
from proxy.settings import CacheSettings

# RFC 9110 15.4.5 has a 304 tell the client what it needs to bring its own copy up to date. Browsers take all fields
# over (RFC 9111 3.2), policies and permissions too, so it gets all of them but those that describe the bytes it has.
_OF_THE_BYTES = (
    "content-digest",
    "content-disposition",
    "content-encoding",
    "content-language",
    "content-length",
    "content-md5",
    "content-range",
    "content-type",
    "repr-digest",
)
_OF_THE_CONNECTION = frozenset({"connection", "transfer-encoding", "upgrade"})
_HIT = CacheStatus()
_ROUNDING_S = 0.001
_NOTHING_ASKED = request_directives(())


@dataclass(frozen=True, kw_only=True)
class FixedPart:
    """What a stored response says to a request at any time. A `FileBody` is to be sent from `start` up to `stop`."""

    stored: StoredResponse
    status: int
    reason: str
    headers: Headers
    body: bytes | FileBody = b""
    start: int = 0
    stop: int = 0

    @cached_property
    def head(self) -> bytes:
        """The status line and the fields so far, as HTTP/1.1."""
        return head_bytes(self.status, self.reason, self.headers)


@dataclass(slots=True)
class HitAnswer:
    """An answer ready to be sent, as a mitmproxy response or as bytes. Nobody changes one that was made."""

    fixed: FixedPart
    moving: Headers
    _head: bytes = field(default=b"", compare=False, repr=False)

    @property
    def headers(self) -> Headers:
        return (*self.fixed.headers, *self.moving)

    @property
    def head(self) -> bytes:
        """All that is sent before the body, as HTTP/1.1."""
        if not self._head:
            self._head = b"%s%s\r\n" % (self.fixed.head, field_bytes(self.moving))
        return self._head


def answer_hit(
    request: CacheRequest,
    variants: Sequence[StoredResponse],
    *,
    now: float,
    settings: CacheSettings,
    offline: bool = False,
) -> HitAnswer | None:
    """The answer out of what is stored for the request's URL; None when the origin must be contacted."""
    decision = decide(request, variants, now=now, settings=settings, offline=offline)
    if not isinstance(decision, ServeStored):
        return None
    return answer_from(request, decision.stored, now=now, settings=settings)


def answer_from(
    request: CacheRequest,
    stored: StoredResponse,
    *,
    now: float,
    settings: CacheSettings,
    status: CacheStatus = _HIT,
    set_cookies: Headers = (),
) -> HitAnswer:
    """The answer that a stored response gives to a request that it may answer (RFC 9111 4).

    `set_cookies` are for this client alone: they came with a 304 to its own request.
    """
    terms = terms_of(stored, settings)
    status = replace(status, ttl_s=terms.ttl_s(now))
    moving = _moving_part(terms.age_s(now), status, set_cookies)
    return HitAnswer(_fixed_part(request, stored), moving)


class PlainHit:
    """The answers of one stored response to plain requests. What is equal in them is worked out once."""

    def __init__(self, stored: StoredResponse, settings: CacheSettings) -> None:
        self.stored = stored
        self._terms = terms_of(stored, settings)
        self._fixed: dict[str, FixedPart] = {}
        self._answers: dict[str, HitAnswer] = {}
        self._since = self._until = 0.0

    def answer(self, method: str, now: float) -> HitAnswer | None:
        """What `answer_hit` says to a plain GET or HEAD that this response is selected for."""
        is_same_second = self._since <= now < self._until
        if is_same_second and method in self._answers:
            return self._answers[method]
        age_s = self._terms.age_s(now)
        if not is_usable(self._terms, _NOTHING_ASKED, age_s):
            return None
        ttl_s = self._terms.lifetime_s - age_s
        if not is_same_second:
            self._answers.clear()
            # Until Age or ttl shows another number, less what rounding may cost.
            self._since, self._until = now, now + min(1.0 - age_s % 1.0, ttl_s % 1.0) - _ROUNDING_S
        moving = _moving_part(age_s, CacheStatus(ttl_s=ttl_s))
        answer = self._answers[method] = HitAnswer(self._fixed_part(method), moving)
        return answer

    def _fixed_part(self, method: str) -> FixedPart:
        fixed = self._fixed.get(method)
        if fixed is None:
            plain = CacheRequest(method=method, url="", headers=())
            fixed = self._fixed[method] = _fixed_part(plain, self.stored)
        return fixed


def goes_as_bytes(stored: StoredResponse) -> bool:
    """Whether its answers can be written as they are: a page out of memory, with nothing about the connection."""
    if stored.status != 200 or not isinstance(stored.body, bytes):
        return False
    return content_length(stored.headers) == len(stored.body) and not has_any(
        stored.headers, _OF_THE_CONNECTION
    )


def _moving_part(age_s: float, status: CacheStatus, set_cookies: Headers = ()) -> Headers:
    return with_cache_headers((("Age", str(int(age_s))), *set_cookies), status)


def _fixed_part(request: CacheRequest, stored: StoredResponse) -> FixedPart:
    headers = without(stored.headers, "age")
    if is_not_modified(request, stored):
        rest = without(headers, *_OF_THE_BYTES)
        return FixedPart(stored=stored, status=304, reason="Not Modified", headers=rest)
    size = len(stored.body) if isinstance(stored.body, bytes) else stored.body.size
    part = wanted_part(request, stored, size)
    if part is not None:
        return _partial(stored, headers, part, size)
    whole = FixedPart(stored=stored, status=stored.status, reason=stored.reason, headers=headers)
    return whole if request.method == "HEAD" else replace(whole, body=stored.body, stop=size)


def _partial(stored: StoredResponse, headers: Headers, part: ByteRange, size: int) -> FixedPart:
    rest = without(headers, "content-length", "content-range")
    if part.stop == 0:
        nowhere = (*rest, ("Content-Range", f"bytes */{size}"), ("Content-Length", "0"))
        return FixedPart(stored=stored, status=416, reason="Range Not Satisfiable", headers=nowhere)
    described = (
        *rest,
        ("Content-Range", f"bytes {part.start}-{part.stop - 1}/{size}"),
        ("Content-Length", str(part.stop - part.start)),
    )
    body = stored.body[part.start : part.stop] if isinstance(stored.body, bytes) else stored.body
    return FixedPart(
        stored=stored,
        status=206,
        reason="Partial Content",
        headers=described,
        body=body,
        start=part.start,
        stop=part.stop,
    )
