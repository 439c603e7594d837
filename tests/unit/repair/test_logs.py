"""repair.logs: lines that cannot flood the log."""

import logging

import pytest

from repair.logs import RateLimitedLogger


@pytest.mark.parametrize("level", ["warning", "error"])
def test_a_line_is_written_once_a_minute_with_how_often_it_came(caplog, level):
    now = 0.0
    limited = RateLimitedLogger(logging.getLogger("test"), clock=lambda: now)
    for now in (0.0, 1.0, 59.0, 60.0, 61.0):  # noqa: B007  the clock reads it
        getattr(limited, level)("no room in %s", "the cache")
    assert caplog.messages == [
        "no room in the cache",
        "no room in the cache (and 2 times since the last such line)",
    ]
    assert {record.levelname.lower() for record in caplog.records} == {level}


def test_two_kinds_of_lines_do_not_hold_each_other_back(caplog):
    log = logging.getLogger("test")
    RateLimitedLogger(log).warning("one")
    RateLimitedLogger(log).warning("another")
    assert caplog.messages == ["one", "another"]
