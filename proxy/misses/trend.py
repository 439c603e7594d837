"""Misses over time: quarters of an hour put together to hours, days or months of the school's own time (pure)."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from typing import Literal

from proxy.review.lists import Tally

Step = Literal["hour", "day", "month"]
_HOURS_UP_TO = timedelta(days=3)
_DAYS_UP_TO = timedelta(days=100)
_MAX_BARS = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One step of time; `at` is its beginning."""

    at: datetime
    tally: Tally


def step_for(length: timedelta) -> Step:
    """The step in which a length of time is best looked at."""
    if length <= _HOURS_UP_TO:
        return "hour"
    return "day" if length <= _DAYS_UP_TO else "month"


def trend(
    moments: Iterable[tuple[datetime, Tally]], *, since: datetime, until: datetime, zone: tzinfo
) -> tuple[Bar, ...]:
    """Every step between two moments, also those in which nothing was missed; of very many the latest."""
    step = step_for(until - since)
    sums: dict[datetime, Tally] = {}
    at = _beginning(since.astimezone(zone), step)
    while at < until:
        sums[at] = Tally()
        at = _next(at, step)
    for moment, tally in moments:
        begins = _beginning(moment.astimezone(zone), step)
        if begins in sums:
            sums[begins] = _added(sums[begins], tally)
    return tuple(Bar(at=at, tally=tally) for at, tally in sums.items())[-_MAX_BARS:]


def _beginning(at: datetime, step: Step) -> datetime:
    at = at.replace(minute=0, second=0, microsecond=0)
    if step == "hour":
        return at
    at = at.replace(hour=0)
    return at if step == "day" else at.replace(day=1)


def _next(at: datetime, step: Step) -> datetime:
    if step == "hour":
        return at + timedelta(hours=1)
    if step == "day":
        return at + timedelta(days=1)
    return (at + timedelta(days=32)).replace(day=1)


def _added(one: Tally, other: Tally) -> Tally:
    return Tally(
        times=one.times + other.times,
        nothing=one.nothing + other.nothing,
        offered=one.offered + other.offered,
        opened=one.opened + other.opened,
    )
