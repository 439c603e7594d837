"""proxy.seldom: warnings that cannot flood the log."""

import logging

from proxy.seldom import Seldom


def test_a_warning_is_written_once_a_minute_with_how_often_it_came(caplog):
    now = [0.0]
    seldom = Seldom(logging.getLogger("test"), clock=lambda: now[0])
    for _ in range(5):
        seldom.warn("no room for %s", "10.0.0.1")
    now[0] = 61.0
    seldom.warn("no room for %s", "10.0.0.2")
    assert [record.getMessage() for record in caplog.records] == [
        "no room for 10.0.0.1",
        "no room for 10.0.0.2 (and 4 times more before)",
    ]
