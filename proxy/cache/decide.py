"""The cache's decision for each request: serve, revalidate, fetch, or give up (RFC 9111 4)."""

from collections.abc import Sequence
from dataclasses import dataclass

from proxy.cache.freshness import FreshnessTerms, age_s, forbids_stale, lifetime_s, terms_of
from proxy.cache.sharing.harmlessfields import is_plain_request
from proxy.cache.validation import CONDITIONS, conditions, has_odd_condition, other_variant
from proxy.cache.vary import select, usable_offline
from proxy.headers.cachecontrol import CacheDirectives, max_stale_s, request_directives, response_directives
from proxy.headers.fields import has, has_any, has_body
from proxy.messages import CacheRequest, Headers, StoredResponse
from proxy.settings import CacheSettings

_BYPASSING = frozenset({"if-match", "if-unmodified-since", "upgrade"})
_OWN_CONDITIONS = frozenset({"range", *CONDITIONS})
_RANGE = frozenset({"range"})
_ERRORS_FOR_STALE = frozenset({500, 502, 503, 504})


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeStored:
    """Answer from the store."""

    stored: StoredResponse


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeStaleAndRevalidate:
    """Answer from the store at once, and revalidate in the background (RFC 5861 3)."""

    stored: StoredResponse
    conditions: Headers


@dataclass(frozen=True, slots=True, kw_only=True)
class Revalidate:
    """Ask the origin whether `stored` is still current; `forward` is the reason, a token of RFC 9211."""

    stored: StoredResponse
    conditions: Headers
    forward: str
    matches: bool = True
    """False when `stored` is another variant: usable only after a 304."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchFromOrigin:
    """Forward the request. `stored`, if any, may be served stale if the origin fails (see `may_serve_stale`)."""

    forward: str
    stored: StoredResponse | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayTimeout:
    """No stored response may answer, and the origin may not be contacted: 504."""

    forward: str


Decision = ServeStored | ServeStaleAndRevalidate | Revalidate | FetchFromOrigin | GatewayTimeout


def decide(
    request: CacheRequest,
    variants: Sequence[StoredResponse],
    *,
    now: float,
    settings: CacheSettings,
    offline: bool = False,
) -> Decision:
    """What to do with a request; `variants` are the stored responses for its URL, newest first."""
    if offline:
        return _decide_offline(request, variants)
    if not may_use_store(request):
        return FetchFromOrigin(forward="method" if request.method not in ("GET", "HEAD") else "bypass")
    requested = request_directives(request.headers)
    stored = select(request, variants)
    if "no-store" in requested:
        return FetchFromOrigin(forward="request")
    if stored is not None and _is_usable(stored, requested, now, settings):
        return ServeStored(stored=stored)
    if "only-if-cached" in requested:
        return GatewayTimeout(forward="uri-miss" if stored is None else "stale")
    if stored is None:
        return _decide_on_miss(request, variants)
    if _may_serve_while_revalidating(stored, requested, now, settings):
        return ServeStaleAndRevalidate(stored=stored, conditions=conditions(stored))
    fresh = age_s(stored, now) < lifetime_s(stored, settings)
    return _decide_to_ask(request, stored, forward="request" if fresh else "stale")


def may_use_store(request: CacheRequest) -> bool:
    """Whether a stored response may answer this request."""
    if request.method not in ("GET", "HEAD") or has_any(request.headers, _BYPASSING):
        return False
    return not has_body(
        request.headers
    )  # the response may depend on the body, which is not part of the cache key


def may_collapse(request: CacheRequest, decision: Decision, settings: CacheSettings) -> bool:
    """Whether request collapsing may let other requests wait for this response."""
    if request.method != "GET" or not isinstance(decision, FetchFromOrigin | Revalidate):
        return False
    if not is_plain_request(request.headers, also=settings.harmless_fields):
        return False
    if decision.forward in ("bypass", "request") or has(request.headers, "authorization"):
        return False
    # FetchFromOrigin forwards the client's own conditions, and a 304 to them answers no other request.
    own = _OWN_CONDITIONS if isinstance(decision, FetchFromOrigin) else _RANGE
    return not has_any(request.headers, own)


def may_answer_others(stored: StoredResponse, *, now: float, settings: CacheSettings) -> bool:
    """Whether collapsed requests that wait for this response may get it without asking the origin again."""
    return _is_usable(stored, request_directives(()), now, settings)


def stale_for_outage(
    request: CacheRequest, decision: Decision, *, now: float, settings: CacheSettings
) -> StoredResponse | None:
    """The stale response to serve at once when the origin was unreachable a moment ago; None: try it again.

    A reload, which browsers mark with max-age=0 or no-cache, always tries again.
    """
    if not isinstance(decision, FetchFromOrigin | Revalidate) or decision.stored is None:
        return None
    if isinstance(decision, Revalidate) and not decision.matches:
        return None
    if request_directives(request.headers).by_name.keys() & {"max-age", "no-cache", "no-store"}:
        return None
    allowed = may_serve_stale(request, decision.stored, status=None, now=now, settings=settings)
    return decision.stored if allowed else None


def may_serve_stale(
    request: CacheRequest,
    stored: StoredResponse,
    *,
    status: int | None,
    now: float,
    settings: CacheSettings,
) -> bool:
    """Whether a stale response may be served instead of an error.

    `status` is the origin's error, for which only stale-if-error allows it (RFC 5861 4). None means that the origin
    could not be reached: then it is allowed unless the response forbids it (RFC 9111 4.2.4) or the client refuses.
    """
    requested = request_directives(request.headers)
    cache_control = response_directives(stored.headers)
    if forbids_stale(cache_control) or "no-cache" in requested or "no-store" in requested:
        return False
    if status is None:
        return True
    if status not in _ERRORS_FOR_STALE:
        return False
    allowed_s = max(cache_control.delta("stale-if-error") or 0, requested.delta("stale-if-error") or 0)
    return age_s(stored, now) - lifetime_s(stored, settings) < allowed_s


def _decide_offline(request: CacheRequest, variants: Sequence[StoredResponse]) -> Decision:
    """In offline mode any stored response is better than none."""
    if request.method not in ("GET", "HEAD"):
        return GatewayTimeout(forward="method")
    if has_body(request.headers):
        return GatewayTimeout(forward="bypass")
    stored = select(request, variants) or usable_offline(request, variants)
    return GatewayTimeout(forward="uri-miss") if stored is None else ServeStored(stored=stored)


def is_usable(terms: FreshnessTerms, requested: CacheDirectives, age_s: float) -> bool:
    """Whether a response may be used without revalidation, by the origin's and client's rules (RFC 9111 5.2.1)."""
    left_s = terms.lifetime_s - age_s
    if not requested.by_name:  # nearly all requests
        return left_s > 0 and not terms.asks_always
    if terms.asks_always or "no-cache" in requested:
        return False
    max_age = requested.delta("max-age")
    # `max-age=0` is a browser's reload: revalidate even a response received this very second.
    if max_age is not None and (age_s > max_age or max_age == 0):
        return False
    if left_s > 0:
        return left_s >= (requested.delta("min-fresh") or 0)
    return -left_s < max_stale_s(requested) and not terms.forbids_stale


def _is_usable(
    stored: StoredResponse, requested: CacheDirectives, now: float, settings: CacheSettings
) -> bool:
    terms = terms_of(stored, settings)
    return is_usable(terms, requested, terms.age_s(now))


def _may_serve_while_revalidating(
    stored: StoredResponse, requested: CacheDirectives, now: float, settings: CacheSettings
) -> bool:
    cache_control = response_directives(stored.headers)
    if forbids_stale(cache_control) or requested.by_name.keys() & {"no-cache", "max-age", "min-fresh"}:
        return False
    stale_s = age_s(stored, now) - lifetime_s(stored, settings)
    return 0 <= stale_s < (cache_control.delta("stale-while-revalidate") or 0)


def _decide_on_miss(request: CacheRequest, variants: Sequence[StoredResponse]) -> Decision:
    if not variants:
        return FetchFromOrigin(forward="uri-miss")
    other = other_variant(request, variants) if request.method == "GET" else None
    if other is None or any(has(request.headers, name) for name in CONDITIONS):
        return FetchFromOrigin(forward="vary-miss")
    # The tag only: a date does not say which variant it belongs to.
    tag = tuple(field for field in conditions(other) if field[0] == "If-None-Match")
    return Revalidate(stored=other, conditions=tag, forward="vary-miss", matches=False)


def _decide_to_ask(request: CacheRequest, stored: StoredResponse, *, forward: str) -> Decision:
    # A HEAD is forwarded unchanged: its response refreshes the stored GET (RFC 9111 4.3.5).
    found = conditions(stored) if request.method == "GET" else ()
    if not found or has_odd_condition(request):
        return FetchFromOrigin(forward=forward, stored=stored)
    return Revalidate(stored=stored, conditions=found, forward=forward)
