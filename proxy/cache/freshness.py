"""Freshness lifetime and age of a stored response (RFC 9111 4.2).

A response is fresh while its age is below its freshness lifetime. The origin sets the lifetime (s-maxage, else
max-age, else Expires); otherwise it is a part of the time since Last-Modified. The age is the larger of what Date and
Age say, plus the time in this cache; clocks that run ahead never make it negative. A response received in the future
(our own clock was set back) has an unknown age and counts as infinitely old.
"""

from dataclasses import dataclass

from proxy.headers.cachecontrol import CacheDirectives, response_directives
from proxy.headers.fields import LARGEST_DELTA_S, date_field, has, seconds, split_list
from proxy.messages import Headers, StoredResponse, values
from proxy.settings import CacheSettings

HEURISTIC_STATUSES = frozenset({200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501})
"""Statuses whose responses may be fresh without the origin saying so (RFC 9110 15.1); 206 is not stored."""
ERRORS_OF_THE_PAGE = frozenset({404, 410, 451})
"""Errors that are about the page itself; any other error may have another cause."""
ERRORS_FRESH_S = 30.0
"""The longest freshness lifetime of any other error, since it may be temporary."""
_CLOCKS_DIFFER_S = 60.0


def explicit_lifetime_s(headers: Headers, *, received_at: float) -> float | None:
    """The lifetime that the origin sets, or None when it sets none. A malformed one counts as stale."""
    cache_control = response_directives(headers)
    for name in ("s-maxage", "max-age"):
        lifetime = cache_control.delta(name)
        if lifetime is not None:
            return lifetime
    if not has(headers, "expires"):
        return None
    expires = date_field(headers, "expires", now=received_at)
    if expires is None:
        return 0.0  # `Expires: 0` and the like mean "already expired" (RFC 9111 5.3)
    return max(0.0, expires - _date(headers, received_at))


def heuristic_lifetime_s(
    status: int, headers: Headers, *, received_at: float, settings: CacheSettings
) -> float:
    """A part of the time since Last-Modified, for statuses that allow it (RFC 9111 4.2.2)."""
    if status not in HEURISTIC_STATUSES and "public" not in response_directives(headers):
        return 0.0
    modified = date_field(headers, "last-modified", now=received_at)
    if modified is None:
        return 0.0
    unchanged_s = max(0.0, _date(headers, received_at) - modified)
    return min(unchanged_s * settings.heuristic_fraction, settings.heuristic_max_s)


def lifetime_s(stored: StoredResponse, settings: CacheSettings) -> float:
    """The freshness lifetime of a stored response."""
    lifetime = explicit_lifetime_s(stored.headers, received_at=stored.received_at)
    if lifetime is None:
        lifetime = heuristic_lifetime_s(
            stored.status, stored.headers, received_at=stored.received_at, settings=settings
        )
    return min(lifetime, ERRORS_FRESH_S) if is_doubtful_error(stored.status) else lifetime


def is_doubtful_error(status: int) -> bool:
    """Whether a status is an error that may have another cause than the page."""
    return status >= 400 and status not in ERRORS_OF_THE_PAGE


def age_s(stored: StoredResponse, now: float) -> float:
    """The current age (RFC 9111 4.2.3), never negative."""
    return _age_s(initial_age_s(stored), stored.received_at, now)


def _age_s(initial_s: float, received_at: float, now: float) -> float:
    if received_at > now + _CLOCKS_DIFFER_S:
        return LARGEST_DELTA_S
    return initial_s + (now - received_at if now > received_at else 0.0)


def initial_age_s(stored: StoredResponse) -> float:
    """The age of the response when it arrived (RFC 9111 4.2.3)."""
    apparent = max(0.0, stored.received_at - _date(stored.headers, stored.received_at))
    delay = max(0.0, stored.received_at - stored.requested_at)
    return max(apparent, stated_age_s(stored.headers) + delay)


def stated_age_s(headers: Headers) -> int:
    """The Age field: its first member counts; an invalid one is ignored (RFC 9111 5.1)."""
    for line in values(headers, "age"):
        for member in split_list(line)[:1]:
            return seconds(member) or 0
    return 0


def forbids_stale(cache_control: CacheDirectives) -> bool:
    """Whether a shared cache must revalidate the response once it is stale (RFC 9111 4.2.4)."""
    return (
        "must-revalidate" in cache_control
        or "proxy-revalidate" in cache_control
        or "s-maxage" in cache_control
        or cache_control.has_unqualified("no-cache")
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FreshnessTerms:
    """All that the use of a stored response depends on, beside the clock and the request."""

    received_at: float
    initial_age_s: float
    lifetime_s: float
    asks_always: bool
    """The origin wants each use to be revalidated (`no-cache`)."""
    forbids_stale: bool

    def age_s(self, now: float) -> float:
        return _age_s(self.initial_age_s, self.received_at, now)

    def ttl_s(self, now: float) -> float:
        """How long the response stays fresh; negative once it is stale."""
        return self.lifetime_s - self.age_s(now)


def terms_of(stored: StoredResponse, settings: CacheSettings) -> FreshnessTerms:
    cache_control = response_directives(stored.headers)
    return FreshnessTerms(
        received_at=stored.received_at,
        initial_age_s=initial_age_s(stored),
        lifetime_s=lifetime_s(stored, settings),
        asks_always=cache_control.has_unqualified("no-cache"),
        forbids_stale=forbids_stale(cache_control),
    )


def _date(headers: Headers, received_at: float) -> float:
    """When the origin made the response; the time of receipt if Date is missing or malformed."""
    date = date_field(headers, "date", now=received_at)
    return received_at if date is None else date
