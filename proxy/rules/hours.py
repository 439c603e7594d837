"""Hours and weekdays in rules: "08:00-12:30", ["mon", "tue"]."""

import re
from dataclasses import dataclass
from datetime import datetime

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_SPAN = re.compile(r"\s*([0-9]{1,2}):([0-9]{2})\s*-\s*([0-9]{1,2}):([0-9]{2})\s*")
_DAY_MINUTES = 24 * 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Hours:
    """Part of a day in minutes since midnight, without the minute `end`; goes past midnight when end < start."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """When a rule applies: in any of the hours (empty: always) that begin on one of the days (empty: every day)."""

    hours: tuple[Hours, ...]
    days: frozenset[int]
    """As `datetime.weekday()`: Monday is 0."""

    def entry_for(self, at: datetime) -> str:
        """The hours, or else the day, that match a local time; "" for none."""
        if not self.hours:
            return DAYS[at.weekday()] if at.weekday() in self.days else ""
        minute = at.hour * 60 + at.minute
        for hours in self.hours:
            if _within(hours, minute) and self._on_day(hours, minute, at.weekday()):
                return hours.text
        return ""

    def _on_day(self, hours: Hours, minute: int, weekday: int) -> bool:
        """Whether these hours belong to one of the days: Friday night lasts until Saturday morning."""
        began_yesterday = hours.end < hours.start and minute < hours.end
        return not self.days or (weekday - began_yesterday) % 7 in self.days


def hours_of(text: str) -> Hours:
    """Hours written as "22:00-06:00"; ValueError, with the reason, if they are invalid."""
    found = _SPAN.fullmatch(text)
    if found is None:
        raise ValueError(f"expected hours such as 08:00-12:30, got {text[:40]!r}")
    first_hour, first_minute, last_hour, last_minute = map(int, found.groups())
    start, end = first_hour * 60 + first_minute, last_hour * 60 + last_minute
    if max(first_minute, last_minute) > 59 or start >= _DAY_MINUTES or end > _DAY_MINUTES:
        raise ValueError(f"not a time of day: {text[:40]!r}")
    if start == end:
        raise ValueError(f"{text[:40]!r} starts and ends at the same time")
    return Hours(text=text.strip(), start=start, end=end)


def day_of(text: str) -> int:
    """A day written as "mon" or "Monday", as a number from Monday, 0; ValueError if it is invalid."""
    short = text.strip().lower()
    if short[:3] in DAYS and (len(short) == 3 or short in _LONG):
        return DAYS.index(short[:3])
    raise ValueError(f"expected a day such as mon, got {text[:40]!r}")


def _within(hours: Hours, minute: int) -> bool:
    if hours.start < hours.end:
        return hours.start <= minute < hours.end
    return minute >= hours.start or minute < hours.end


_LONG = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
