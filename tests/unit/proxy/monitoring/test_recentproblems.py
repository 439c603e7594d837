"""The last warnings and errors, kept for the admin pages."""

import logging

import pytest

from proxy.monitoring.recentproblems import LOG_ONLY, RecentProblems


@pytest.fixture
def problems():
    problems = RecentProblems()
    log = logging.getLogger("proxy.test_recent")
    log.addHandler(problems)
    yield problems, log
    log.removeHandler(problems)


def test_newest_problems_come_first_and_only_problems_are_kept(problems):
    kept, log = problems
    log.warning("first")
    log.info("all is well")
    log.error("second %s", "one")
    assert [(each.level, each.text) for each in kept.latest()] == [
        ("error", "second one"),
        ("warning", "first"),
    ]


def test_line_meant_for_the_log_is_not_repeated_at_the_desk(problems):
    kept, log = problems
    log.warning("set a password with the code ABCDE", extra=LOG_ONLY)
    assert kept.latest() == ()


def test_they_are_bounded_in_number_and_length(problems):
    kept, log = problems
    for number in range(500):
        log.warning("%d %s", number, "x" * 5000)
    assert len(kept.latest()) == 100
    assert all(len(each.text) <= 500 for each in kept.latest())


def test_message_cannot_inject_lines(problems):
    kept, log = problems
    log.warning("no answer from %s", "http://evil.test/\r\n2026 error proxy: all is lost\x1b[2J")
    assert len(kept.latest()) == 1
    assert kept.latest()[0].text.isprintable()


def test_exception_is_named(problems):
    kept, log = problems
    try:
        raise KeyError("gone")
    except KeyError:
        log.exception("it failed")
    assert kept.latest()[0].text == "it failed: KeyError('gone')"


def test_a_message_that_does_not_fit_its_arguments_does_no_harm(problems):
    kept, log = problems
    log.propagate = False
    log.warning("%d", "x")
    log.propagate = True
    assert kept.latest()[0].text == "%d"
