"""The week or month of a report, in local time (pure)."""

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from enum import StrEnum


class ReportStep(StrEnum):
    """How long a report's period is."""

    WEEK = "week"
    MONTH = "month"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportPeriod:
    """From `first` to `last`, both inclusive."""

    step: ReportStep
    first: date
    last: date

    @property
    def since(self) -> datetime:
        return datetime.combine(self.first, time()).astimezone()

    @property
    def until(self) -> datetime:
        """The first moment after it."""
        return datetime.combine(self.last + timedelta(days=1), time()).astimezone()

    @property
    def name(self) -> str:
        """Fit for a title and a file name, such as 2026-W46 or 2026-11."""
        if self.step is ReportStep.MONTH:
            return f"{self.first:%Y-%m}"
        year, week, _ = self.first.isocalendar()
        return f"{year}-W{week:02}"


def period_with(step: ReportStep, day: date) -> ReportPeriod:
    """The week (from Monday) or month that a day is in.

    >>> period_with(ReportStep.MONTH, date(2026, 2, 3)).last
    datetime.date(2026, 2, 28)
    """
    if step is ReportStep.WEEK:
        first = day - timedelta(days=day.weekday())
        return ReportPeriod(step=step, first=first, last=first + timedelta(days=6))
    first = day.replace(day=1)
    return ReportPeriod(
        step=step, first=first, last=(first + timedelta(days=32)).replace(day=1) - timedelta(days=1)
    )


def last_period(step: ReportStep, today: date) -> ReportPeriod:
    """The latest week or month that is over."""
    return period_with(step, period_with(step, today).first - timedelta(days=1))
