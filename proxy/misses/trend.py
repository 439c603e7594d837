"""Misses over time: quarters of an hour summed to hours, days or months in local time (pure)."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from typing import Literal

from proxy.misses.lists import MissTally

Step = Literal["hour", "day", "month"]
_HOURS_UP_TO = timedelta(days=3)
_DAYS_UP_TO = timedelta(days=100)
_MAX_BARS = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendBar:
    """One step of time; `at` is its beginning."""

    at: datetime
    tally: MissTally


def step_for(length: timedelta) -> Step:
    """The best step for a chart of this length."""
    if length <= _HOURS_UP_TO:
        return "hour"
    return "day" if length <= _DAYS_UP_TO else "month"


def trend(
    moments: Iterable[tuple[datetime, MissTally]], *, since: datetime, until: datetime, zone: tzinfo
) -> tuple[TrendBar, ...]:
    """Every step between two moments, also those without misses; only the latest if there are too many."""
    step = step_for(until - since)
    sums: dict[datetime, MissTally] = {}
    at = _beginning(since.astimezone(zone), step)
    while at < until:
        sums[at] = MissTally()
        at = _next(at, step)
    for moment, tally in moments:
        begins = _beginning(moment.astimezone(zone), step)
        if begins in sums:
            sums[begins] = _add(sums[begins], tally)
    return tuple(TrendBar(at=at, tally=tally) for at, tally in sums.items())[-_MAX_BARS:]


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


def _add(one: MissTally, other: MissTally) -> MissTally:
    return MissTally(
        times=one.times + other.times,
        nothing=one.nothing + other.nothing,
        offered=one.offered + other.offered,
        opened=one.opened + other.opened,
    )
