"""Misses over time, in the school's own time."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from proxy.misses.lists import MissTally
from proxy.misses.trend import step_for, trend

ONE = MissTally(times=1, opened=1)
KATHMANDU = timezone(timedelta(hours=5, minutes=45))


def at(*parts):
    return datetime(2026, *parts, tzinfo=UTC)


@pytest.mark.parametrize(
    ("days", "step"), [(1, "hour"), (3, "hour"), (4, "day"), (90, "day"), (365, "month")]
)
def test_the_step_fits_the_length(days, step):
    assert step_for(timedelta(days=days)) == step


def test_every_day_has_its_bar_also_an_empty_one():
    bars = trend(
        [(at(5, 2, 9), ONE), (at(5, 2, 10), ONE), (at(5, 4), ONE)], since=at(5, 1), until=at(5, 6), zone=UTC
    )
    assert [(bar.at.day, bar.tally.times) for bar in bars] == [(1, 0), (2, 2), (3, 0), (4, 1), (5, 0)]
    assert bars[1].tally == MissTally(times=2, opened=2)


def test_days_begin_at_midnight_of_the_school():
    late = at(5, 2, 18, 15)  # midnight in Kathmandu
    bars = trend(
        [(late - timedelta(minutes=15), ONE), (late, ONE)], since=at(5, 1), until=at(5, 8), zone=KATHMANDU
    )
    assert [bar.tally.times for bar in bars[:4]] == [0, 1, 1, 0]


def test_hours_and_months_are_counted_too():
    hours = trend([(at(5, 1, 1, 45), ONE)], since=at(5, 1), until=at(5, 1, 3), zone=UTC)
    assert [bar.tally.times for bar in hours] == [0, 1, 0]
    months = trend([(at(2, 28), ONE)], since=at(1, 31), until=at(12, 1), zone=UTC)
    assert [bar.tally.times for bar in months] == [0, 1, *[0] * 9]


def test_there_are_never_too_many_bars():
    bars = trend([], since=datetime(1, 1, 2, tzinfo=UTC), until=datetime(9000, 1, 1, tzinfo=UTC), zone=UTC)
    assert len(bars) == 400
