"""What the harness finds in linkmend's log."""

import pytest

from tests.chaos.log import Log


@pytest.fixture
def log(tmp_path):
    log = Log(tmp_path / "linkmend.log")
    log.hear(b"12:00 DEBUG worker 1 is process 41\n")
    yield log
    log.close()


def test_a_traceback_is_a_fault_told_once_with_what_follows(log):
    log.hear(b"Traceback (most recent call last):\n")
    log.hear(b"ZeroDivisionError\n")
    assert "ZeroDivisionError" in log.faults()[0]
    assert log.faults() == []


def test_a_process_that_ends_by_itself_is_a_fault(log):
    log.hear(b"12:01Z error [supervisor] worker 1 (process 41) ended: without a word; again in 0.0 s\n")
    assert "without a word" in log.faults()[0]


def test_a_process_that_we_killed_is_none(log):
    log.killed.add(log.pids["worker 1"])
    log.hear(b"12:01 ERROR worker 1 (process 41) ended: without a word; again in 0.0 s\n")
    assert log.faults() == []


def test_it_tells_what_was_said_of_a_page_meanwhile(log):
    log.hear(b"12:01 DEBUG hit /page/1\n")
    log.hear(b"12:01 DEBUG hit /page/2\n")
    assert log.between(0, float("inf"), "/page/2")[-1].endswith("/page/2")
    assert not any("/page/1" in line for line in log.between(0, float("inf"), "/page/2"))
