"""proxy.rules.hours: hours that may pass midnight, days on which they begin."""

from datetime import UTC, datetime

import pytest

from proxy.rules.hours import Schedule, day_of, hours_of

FRIDAY, SATURDAY, SUNDAY = 13, 14, 15


def at(day, hour, minute=0):
    return datetime(2026, 11, day, hour, minute, tzinfo=UTC)


def a_schedule(*hours, days=()):
    return Schedule(hours=tuple(map(hours_of, hours)), days=frozenset(map(day_of, days)))


def test_hours_begin_with_their_first_minute_and_end_before_their_last():
    lesson = a_schedule("08:00-12:30")
    assert lesson.entry_for(at(FRIDAY, 8)) == "08:00-12:30"
    assert lesson.entry_for(at(FRIDAY, 12, 29))
    assert not lesson.entry_for(at(FRIDAY, 12, 30))
    assert not lesson.entry_for(at(FRIDAY, 7, 59))


def test_hours_may_pass_midnight():
    night = a_schedule("22:00-06:00")
    assert night.entry_for(at(FRIDAY, 23))
    assert night.entry_for(at(FRIDAY, 5, 59))
    assert not night.entry_for(at(FRIDAY, 6))


def test_fridays_night_lasts_until_saturday_morning():
    night = a_schedule("22:00-06:00", days=["fri"])
    assert night.entry_for(at(FRIDAY, 22))
    assert night.entry_for(at(SATURDAY, 3))
    assert not night.entry_for(at(FRIDAY, 3))
    assert not night.entry_for(at(SATURDAY, 22))


def test_days_count_without_hours_and_sunday_comes_before_monday():
    assert a_schedule(days=["Saturday", "sun"]).entry_for(at(SUNDAY, 12)) == "sun"
    assert not a_schedule(days=["mon"]).entry_for(at(SUNDAY, 12))
    assert a_schedule("22:00-06:00", days=["sun"]).entry_for(at(SUNDAY + 1, 1))


def test_a_day_may_last_until_its_end():
    assert a_schedule("12:00-24:00").entry_for(at(FRIDAY, 23, 59))
    assert not a_schedule("12:00-24:00").entry_for(at(SATURDAY, 0))


@pytest.mark.parametrize(
    "wrong", ["", "8-12", "08:00", "25:00-26:00", "08:60-09:00", "24:00-06:00", "08:00-08:00", "a:b-c:d"]
)
def test_what_are_no_hours_is_refused(wrong):
    with pytest.raises(ValueError, match="hours|time of day|starts"):
        hours_of(wrong)


@pytest.mark.parametrize("wrong", ["", "mo", "monda", "day", "funday"])
def test_an_invalid_day_is_refused(wrong):
    with pytest.raises(ValueError, match="day"):
        day_of(wrong)
