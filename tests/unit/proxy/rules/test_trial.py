"""proxy.rules.trial: what fires at each moment, told for people and programs."""

from datetime import UTC, datetime

import pytest

from proxy.rules.trial import local_time, trials
from tests.unit.proxy.rules.books import MONDAY_NOON, a_book

BOOK = """
[[rule]]
domain = "b.test"
action = "block"
[[rule]]
domain = "c.test"
action = "block"
[[rule]]
name = "moved"
url = "a.test/*"
action = "redirect"
to = "https://b.test{path}"
"""


def test_each_moment_is_tried():
    found = trials(a_book(BOOK), url="http://a.test/x", client="10.0.0.1", at=MONDAY_NOON, shown=1)
    assert [trial.stage for trial in found] == ["connect", "request", "response"]
    assert [trial.outcome and trial.outcome.redirect_to for trial in found] == [
        None,
        "https://b.test/x",
        "https://b.test/x",
    ]
    assert [tried.rule for tried in found[1].rules] == ["10.toml:1", "moved"]
    assert [trial.more for trial in found] == [2, 1, 1]


def test_an_invalid_address_is_refused():
    with pytest.raises(ValueError, match="web address"):
        trials(a_book(BOOK), url="a.test", client="10.0.0.1", at=MONDAY_NOON, shown=1)


def test_a_time_of_day_is_meant_today_and_a_date_as_it_is():
    now = datetime(2026, 5, 3, 12, 0, 7, tzinfo=UTC)
    assert local_time("", now) == now
    assert local_time("09:30", now) == datetime(2026, 5, 3, 9, 30, tzinfo=UTC)
    assert local_time("2026-05-04T10:30", now).day == 4
    for wrong in ("noon", "25:00", "2026-13-01"):
        with pytest.raises(ValueError, match="."):
            local_time(wrong, now)
