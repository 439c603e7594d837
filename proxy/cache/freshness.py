"""How long a stored response may be believed, and how old it is (RFC 9111 4.2).

A response is fresh while its age is below its freshness lifetime. The lifetime is what the origin says (s-maxage,
else max-age, else Expires), or a part of the time since Last-Modified where it says nothing. The age is the larger
of what Date and what Age tell, plus the time it has been here; clocks that run ahead never make it negative. What was
received in the future (our own clock was set back) is of unknown age, and so as old as can be.
"""

from proxy.cache.directives import Directives, response_directives
from proxy.cache.entry import Headers, StoredResponse, values
from proxy.cache.fields import LARGEST_DELTA_S, date_field, has, seconds, split_list
from proxy.settings import CacheSettings

HEURISTIC_STATUSES = frozenset({200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501})
"""Statuses whose responses may be fresh without the origin saying so (RFC 9110 15.1); 206 is not stored."""
ERRORS_OF_THE_PAGE = frozenset({404, 410, 451})
"""Errors that say something of what was asked for; of any other, something else may be the cause."""
ERRORS_FRESH_S = 30.0
"""How long any other error is believed at most, however long it says: it may have been a bad moment."""
_CLOCKS_DIFFER_S = 60.0


def explicit_lifetime_s(headers: Headers, *, received_at: float) -> float | None:
    """What the origin says of freshness, or None when it says nothing. What it says badly counts as stale."""
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
    """Whether an answer is an error that may have had another cause than the page."""
    return status >= 400 and status not in ERRORS_OF_THE_PAGE


def age_s(stored: StoredResponse, now: float) -> float:
    """The current age (RFC 9111 4.2.3), never negative."""
    if stored.received_at > now + _CLOCKS_DIFFER_S:
        return LARGEST_DELTA_S
    return initial_age_s(stored) + max(0.0, now - stored.received_at)


def initial_age_s(stored: StoredResponse) -> float:
    """How old the response was when it came here (RFC 9111 4.2.3)."""
    apparent = max(0.0, stored.received_at - _date(stored.headers, stored.received_at))
    delay = max(0.0, stored.received_at - stored.requested_at)
    return max(apparent, stated_age_s(stored.headers) + delay)


def stated_age_s(headers: Headers) -> int:
    """The Age field: its first member counts, and what is not a number of seconds is ignored (RFC 9111 5.1)."""
    for line in values(headers, "age"):
        for member in split_list(line)[:1]:
            return seconds(member) or 0
    return 0


def ttl_s(stored: StoredResponse, now: float, settings: CacheSettings) -> float:
    """How long the response stays fresh; negative once it is stale."""
    return lifetime_s(stored, settings) - age_s(stored, now)


def forbids_stale(cache_control: Directives) -> bool:
    """Whether a shared cache may not use the response without asking once it is stale (RFC 9111 4.2.4)."""
    return (
        "must-revalidate" in cache_control
        or "proxy-revalidate" in cache_control
        or "s-maxage" in cache_control
        or cache_control.unqualified("no-cache")
    )


def _date(headers: Headers, received_at: float) -> float:
    """When the origin made the response; the time it arrived, where Date is missing or malformed."""
    date = date_field(headers, "date", now=received_at)
    return received_at if date is None else date
