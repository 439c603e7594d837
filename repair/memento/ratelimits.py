"""Rate limit, pause and circuit breaker for each archive: pure functions over its stored state.

Archives block whole schools that ask too often or go on after a 429, so there are three guards:

    rate limit        requests per minute with a small burst (generic cell rate algorithm: one number each)
    pause             after 429 or 503, no requests for as long as Retry-After says, or a minute, doubling
    circuit breaker   after some failures in a row, no requests for a minute, doubling up to an hour; then one trial
                      request, and only its success lets others through
"""

from dataclasses import dataclass, replace
from datetime import datetime

from repair.memento.datetimes import http_date

BURST = 5
"""Requests that may be sent at once after a quiet time."""
TRIES = 3
"""Failures in a row that open the circuit breaker."""
REST_S = 60.0
MAX_REST_S = 3_600.0
MAX_RETRY_AFTER_S = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveState:
    """The state of an archive: failures in a row, the end (Unix time) of its pause, and the pause's length."""

    failures: int = 0
    rests_until: float = 0.0
    rest_s: float = 0.0


def next_slot(due_at: float, now: float, per_minute: int, burst: int = BURST) -> tuple[float, float]:
    """How long to wait before the next request, and the new `due_at` if it is sent now.

    `due_at` is the value from the last request, 0 when there was none; all times are in seconds.
    """
    interval = 60.0 / max(1, per_minute)
    # A clock that was set back must not block requests for longer than a whole burst takes.
    due_at = min(max(due_at, now), now + burst * interval)
    return max(0.0, due_at - now - (burst - 1) * interval), due_at + interval


def is_available(health: ArchiveState, now: float) -> bool:
    """Whether the archive may be queried now; a pause longer than any we set comes from a wrong clock."""
    return not now < health.rests_until <= now + MAX_RETRY_AFTER_S


def note_request(health: ArchiveState, now: float, trial_s: float) -> ArchiveState:
    """The state after sending a request: with an open circuit breaker it is a trial, and others wait for its end."""
    return replace(health, rests_until=now + trial_s) if health.failures >= TRIES else health


def note_failure(health: ArchiveState, now: float) -> ArchiveState:
    """The state after a late or broken answer."""
    failures = health.failures + 1
    if failures < TRIES:
        return replace(health, failures=failures)
    rest_s = min(MAX_REST_S, 2 * health.rest_s or REST_S)
    return ArchiveState(failures=failures, rests_until=now + rest_s, rest_s=rest_s)


def note_refusal(health: ArchiveState, now: float, retry_after_s: float | None) -> ArchiveState:
    """The state after 429 or 503: one is enough for a pause."""
    rest_s = min(MAX_REST_S, 2 * health.rest_s or REST_S)
    wait_s = min(MAX_RETRY_AFTER_S, max(rest_s, retry_after_s or 0.0))
    return ArchiveState(failures=max(health.failures + 1, TRIES), rests_until=now + wait_s, rest_s=rest_s)


def retry_after(value: str | None, now: datetime) -> float | None:
    """The seconds that a Retry-After header asks for, as a number or a date; None when it has neither."""
    text = (value or "").strip()
    if text.isascii() and text.isdigit() and len(text) < 10:
        return float(text)
    at = http_date(text) if text else None
    return max(0.0, (at - now).total_seconds()) if at else None
