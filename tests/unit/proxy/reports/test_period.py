"""Weeks and months."""

from datetime import date, timedelta

import pytest

from proxy.reports.period import ReportStep, last_period, period_with


@pytest.mark.parametrize(
    ("step", "day", "first", "last", "name"),
    [
        (ReportStep.WEEK, date(2026, 11, 18), date(2026, 11, 16), date(2026, 11, 22), "2026-W47"),
        (ReportStep.WEEK, date(2027, 1, 1), date(2026, 12, 28), date(2027, 1, 3), "2026-W53"),
        (ReportStep.MONTH, date(2026, 12, 31), date(2026, 12, 1), date(2026, 12, 31), "2026-12"),
        (ReportStep.MONTH, date(2028, 2, 1), date(2028, 2, 1), date(2028, 2, 29), "2028-02"),
    ],
)
def test_a_day_is_in_its_week_and_month(step, day, first, last, name):
    period = period_with(step, day)
    assert (period.first, period.last, period.name) == (first, last, name)
    assert period.since.date() == first
    assert period.until - timedelta(seconds=1) < period.until
    assert period.until.date() == last + timedelta(days=1)


def test_the_last_period_is_over():
    assert last_period(ReportStep.WEEK, date(2026, 11, 16)).name == "2026-W46"
    assert last_period(ReportStep.MONTH, date(2026, 1, 31)).name == "2025-12"
