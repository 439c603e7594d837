"""How often an archive may be asked, and when to leave it alone: pure functions over what is remembered of it.

Archives block whole schools that ask too often or go on after a 429, so there are three guards:

    pace      so many requests a minute, a few of them at once (the generic cell rate algorithm: one number each)
    pause     after 429 or 503 nothing is asked for as long as Retry-After says, or a minute, doubling
    breaker   after some failures in a row nothing is asked for a minute, doubling up to an hour; then one request
              may try, and only its success opens the way for the others
"""

from dataclasses import dataclass, replace
from datetime import datetime

from repair.memento.datetimes import http_date

BURST = 5
"""Requests that may follow each other at once after a quiet while."""
TRIES = 3
"""Failures in a row after which an archive is left alone."""
REST_S = 60.0
MAX_REST_S = 3_600.0
MAX_RETRY_AFTER_S = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """How an archive fares: failures in a row, until when (Unix time) it is left alone, and for how long last."""

    failures: int = 0
    rests_until: float = 0.0
    rest_s: float = 0.0


def paced(due_at: float, now: float, per_minute: int, burst: int = BURST) -> tuple[float, float]:
    """How long to wait before a request may go, and when the next is due if it goes now.

    `due_at` is what the last request left behind, 0 when there was none; all times are in seconds.
    """
    interval = 60.0 / max(1, per_minute)
    # A clock that was set back must not silence us for longer than a whole burst takes.
    due_at = min(max(due_at, now), now + burst * interval)
    return max(0.0, due_at - now - (burst - 1) * interval), due_at + interval


def may_ask(health: Health, now: float) -> bool:
    """Whether the archive may be asked now; a rest that is longer than any we order was set by another clock."""
    return not now < health.rests_until <= now + MAX_RETRY_AFTER_S


def asked(health: Health, now: float, trial_s: float) -> Health:
    """What is noted when a request goes out: after a rest it is a trial, and others wait for how it ends."""
    return replace(health, rests_until=now + trial_s) if health.failures >= TRIES else health


def failed(health: Health, now: float) -> Health:
    """What is noted after an answer that was late or broken."""
    failures = health.failures + 1
    if failures < TRIES:
        return replace(health, failures=failures)
    rest_s = min(MAX_REST_S, 2 * health.rest_s or REST_S)
    return Health(failures=failures, rests_until=now + rest_s, rest_s=rest_s)


def refused(health: Health, now: float, retry_after_s: float | None) -> Health:
    """What is noted after 429 or 503: one is enough."""
    rest_s = min(MAX_REST_S, 2 * health.rest_s or REST_S)
    wait_s = min(MAX_RETRY_AFTER_S, max(rest_s, retry_after_s or 0.0))
    return Health(failures=max(health.failures + 1, TRIES), rests_until=now + wait_s, rest_s=rest_s)


def retry_after(value: str | None, now: datetime) -> float | None:
    """The seconds that a Retry-After header asks for, given as a number or as a date; None when it says nothing."""
    text = (value or "").strip()
    if text.isascii() and text.isdigit() and len(text) < 10:
        return float(text)
    at = http_date(text) if text else None
    return max(0.0, (at - now).total_seconds()) if at else None
