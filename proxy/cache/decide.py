"""The one decision a cache takes for each request: serve, ask if it still holds, fetch, or give up (RFC 9111 4)."""

from collections.abc import Sequence
from dataclasses import dataclass

from proxy.cache.directives import Directives, max_stale_s, request_directives, response_directives
from proxy.cache.entry import CacheRequest, Headers, StoredResponse
from proxy.cache.fields import has, has_any, has_body
from proxy.cache.freshness import age_s, forbids_stale, lifetime_s
from proxy.cache.harmless import is_plain_request
from proxy.cache.validating import CONDITIONS, conditions, has_odd_condition, other_variant
from proxy.cache.vary import nearest, select
from proxy.settings import CacheSettings

_BYPASSING = frozenset({"if-match", "if-unmodified-since", "upgrade"})
_OWN_CONDITIONS = frozenset({"range", *CONDITIONS})
_RANGE = frozenset({"range"})
_ERRORS_FOR_STALE = frozenset({500, 502, 503, 504})


@dataclass(frozen=True, slots=True, kw_only=True)
class Serve:
    """Answer from the store."""

    stored: StoredResponse


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeStaleAndRevalidate:
    """Answer from the store at once, and ask the origin behind the answer (RFC 5861 3)."""

    stored: StoredResponse
    conditions: Headers


@dataclass(frozen=True, slots=True, kw_only=True)
class Revalidate:
    """Ask the origin whether `stored` still answers; `forward` is why, in the words of RFC 9211."""

    stored: StoredResponse
    conditions: Headers
    forward: str
    matches: bool = True
    """False when `stored` was selected by other request fields: good only after a 304."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetch:
    """Send the request on. `stored`, if any, may stand in when the origin fails (see `may_stand_in`)."""

    forward: str
    stored: StoredResponse | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayTimeout:
    """Nothing held may answer, and nobody may be asked: 504."""

    forward: str


Decision = Serve | ServeStaleAndRevalidate | Revalidate | Fetch | GatewayTimeout


def decide(
    request: CacheRequest,
    variants: Sequence[StoredResponse],
    *,
    now: float,
    settings: CacheSettings,
    offline: bool = False,
) -> Decision:
    """What to do with a request, given what is stored for its URL, newest first."""
    if offline:
        return _decide_offline(request, variants)
    if not looks_up(request):
        return Fetch(forward="method" if request.method not in ("GET", "HEAD") else "bypass")
    asked = request_directives(request.headers)
    stored = select(request, variants)
    if "no-store" in asked:
        return Fetch(forward="request")
    if stored is not None and _usable(stored, asked, now, settings):
        return Serve(stored=stored)
    if "only-if-cached" in asked:
        return GatewayTimeout(forward="uri-miss" if stored is None else "stale")
    if stored is None:
        return _missing(request, variants)
    if _while_revalidating(stored, asked, now, settings):
        return ServeStaleAndRevalidate(stored=stored, conditions=conditions(stored))
    fresh = age_s(stored, now) < lifetime_s(stored, settings)
    return _ask(request, stored, forward="request" if fresh else "stale")


def looks_up(request: CacheRequest) -> bool:
    """Whether the store has anything to say to this request."""
    if request.method not in ("GET", "HEAD") or has_any(request.headers, _BYPASSING):
        return False
    return not has_body(request.headers)  # the answer may be to the body, which is not part of the key


def may_collapse(request: CacheRequest, decision: Decision, settings: CacheSettings) -> bool:
    """Whether others may wait for this request's answer, because it may be theirs too."""
    if request.method != "GET" or not isinstance(decision, Fetch | Revalidate):
        return False
    if not is_plain_request(request.headers, also=settings.harmless_fields):
        return False
    if decision.forward in ("bypass", "request") or has(request.headers, "authorization"):
        return False
    # The client's own conditions are forwarded by a Fetch, and a 304 to them helps nobody else.
    own = _OWN_CONDITIONS if isinstance(decision, Fetch) else _RANGE
    return not has_any(request.headers, own)


def answers_others(stored: StoredResponse, *, now: float, settings: CacheSettings) -> bool:
    """Whether others who wait for this response may be given it without asking again."""
    return _usable(stored, request_directives(()), now, settings)


def during_outage(
    request: CacheRequest, decision: Decision, *, now: float, settings: CacheSettings
) -> StoredResponse | None:
    """What to serve at once when the origin could not be reached a moment ago; None: try it again.

    A reload, which browsers mark with max-age=0 or no-cache, always tries again.
    """
    if not isinstance(decision, Fetch | Revalidate) or decision.stored is None:
        return None
    if isinstance(decision, Revalidate) and not decision.matches:
        return None
    if request_directives(request.headers).by_name.keys() & {"max-age", "no-cache", "no-store"}:
        return None
    allowed = may_stand_in(request, decision.stored, status=None, now=now, settings=settings)
    return decision.stored if allowed else None


def may_stand_in(
    request: CacheRequest,
    stored: StoredResponse,
    *,
    status: int | None,
    now: float,
    settings: CacheSettings,
) -> bool:
    """Whether a stale response may be served although the origin was asked.

    `status` is the error it gave, allowed for by stale-if-error only (RFC 5861 4); None when it could not be reached,
    where anything goes that the response does not forbid (RFC 9111 4.2.4) and the client did not refuse.
    """
    asked = request_directives(request.headers)
    cache_control = response_directives(stored.headers)
    if forbids_stale(cache_control) or "no-cache" in asked or "no-store" in asked:
        return False
    if status is None:
        return True
    if status not in _ERRORS_FOR_STALE:
        return False
    allowed_s = max(cache_control.delta("stale-if-error") or 0, asked.delta("stale-if-error") or 0)
    return age_s(stored, now) - lifetime_s(stored, settings) < allowed_s


def _decide_offline(request: CacheRequest, variants: Sequence[StoredResponse]) -> Decision:
    """Whatever is held is better than nothing when the admin says that nobody is to be asked."""
    if request.method not in ("GET", "HEAD"):
        return GatewayTimeout(forward="method")
    if has_body(request.headers):
        return GatewayTimeout(forward="bypass")
    stored = select(request, variants) or nearest(request, variants)
    return GatewayTimeout(forward="uri-miss") if stored is None else Serve(stored=stored)


def _usable(stored: StoredResponse, asked: Directives, now: float, settings: CacheSettings) -> bool:
    """Whether the response may be used without asking: the origin's wishes, then the client's (RFC 9111 5.2.1)."""
    cache_control = response_directives(stored.headers)
    if cache_control.unqualified("no-cache") or "no-cache" in asked:
        return False
    age = age_s(stored, now)
    max_age = asked.delta("max-age")
    # `max-age=0` is a browser's reload: even a response received this very second is to be asked for.
    if max_age is not None and (age > max_age or max_age == 0):
        return False
    left_s = lifetime_s(stored, settings) - age
    if left_s > 0:
        return left_s >= (asked.delta("min-fresh") or 0)
    return -left_s < max_stale_s(asked) and not forbids_stale(cache_control)


def _while_revalidating(
    stored: StoredResponse, asked: Directives, now: float, settings: CacheSettings
) -> bool:
    cache_control = response_directives(stored.headers)
    if forbids_stale(cache_control) or asked.by_name.keys() & {"no-cache", "max-age", "min-fresh"}:
        return False
    stale_s = age_s(stored, now) - lifetime_s(stored, settings)
    return 0 <= stale_s < (cache_control.delta("stale-while-revalidate") or 0)


def _missing(request: CacheRequest, variants: Sequence[StoredResponse]) -> Decision:
    if not variants:
        return Fetch(forward="uri-miss")
    other = other_variant(request, variants) if request.method == "GET" else None
    if other is None or any(has(request.headers, name) for name in CONDITIONS):
        return Fetch(forward="vary-miss")
    # The tag only: a date says nothing of which variant it belongs to.
    tag = tuple(field for field in conditions(other) if field[0] == "If-None-Match")
    return Revalidate(stored=other, conditions=tag, forward="vary-miss", matches=False)


def _ask(request: CacheRequest, stored: StoredResponse, *, forward: str) -> Decision:
    # A HEAD goes on as it is: its answer refreshes the stored GET (RFC 9111 4.3.5).
    found = conditions(stored) if request.method == "GET" else ()
    if not found or has_odd_condition(request):
        return Fetch(forward=forward, stored=stored)
    return Revalidate(stored=stored, conditions=found, forward=forward)
