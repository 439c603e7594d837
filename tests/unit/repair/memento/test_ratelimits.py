from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repair.memento.ratelimits import (
    BURST,
    MAX_REST_S,
    MAX_RETRY_AFTER_S,
    REST_S,
    TRIES,
    ArchiveState,
    is_available,
    next_slot,
    note_failure,
    note_refusal,
    note_request,
    retry_after,
)

NOW = 1_780_000_000.0


def _after_failures(times, now=NOW):
    health = ArchiveState()
    for _ in range(times):
        health = note_failure(health, now)
    return health


def test_a_burst_is_allowed_then_one_request_per_interval():
    due_at, waits = 0.0, []
    for _ in range(BURST + 1):
        wait_s, due_at = next_slot(due_at, NOW, 20)
        waits.append(wait_s)
    assert waits == [0.0] * BURST + [3.0]


def test_the_burst_is_restored_after_quiet_time():
    due_at = 0.0
    for _ in range(BURST):
        _, due_at = next_slot(due_at, NOW, 20)
    assert next_slot(due_at, NOW, 20)[0] > 0
    assert next_slot(due_at, NOW + 60, 20)[0] == 0.0


@given(st.lists(st.floats(0, 30), max_size=200), st.integers(1, 120))
def test_requests_never_exceed_the_rate_plus_a_burst(gaps, per_minute):
    now, due_at, sent = NOW, 0.0, []
    for gap in gaps:
        now += gap
        wait_s, then = next_slot(due_at, now, per_minute)
        if wait_s == 0.0:
            due_at = then
            sent.append(now)
    for first in sent:
        assert sum(first <= at < first + 60 for at in sent) <= per_minute + BURST


def test_a_clock_set_back_does_not_block_requests():
    assert next_slot(NOW + 10**7, NOW, 20)[0] <= BURST * 3.0
    assert is_available(ArchiveState(failures=TRIES, rests_until=NOW + 10**7), NOW)


def test_failures_in_a_row_open_the_circuit_breaker():
    assert is_available(_after_failures(TRIES - 1), NOW)
    resting = _after_failures(TRIES)
    assert not is_available(resting, NOW + REST_S - 1)
    assert is_available(resting, NOW + REST_S)


def test_after_a_pause_one_trial_request_is_sent_and_others_wait():
    trying = note_request(_after_failures(TRIES), NOW + REST_S, trial_s=10.0)
    assert not is_available(trying, NOW + REST_S + 5)
    assert is_available(trying, NOW + REST_S + 10)
    assert note_request(ArchiveState(failures=1), NOW, trial_s=10.0) == ArchiveState(failures=1)


def test_pauses_double_up_to_an_hour():
    rests = [_after_failures(times).rest_s for times in range(TRIES, TRIES + 10)]
    assert rests[:3] == [REST_S, 2 * REST_S, 4 * REST_S]
    assert rests[-1] == MAX_REST_S


@pytest.mark.parametrize(
    ("retry_after_s", "rest_s"), [(None, REST_S), (5.0, REST_S), (600.0, 600.0), (1e12, MAX_RETRY_AFTER_S)]
)
def test_one_refusal_pauses_for_retry_after_within_limits(retry_after_s, rest_s):
    resting = note_refusal(ArchiveState(), NOW, retry_after_s)
    assert not is_available(resting, NOW + rest_s - 1)
    assert is_available(resting, NOW + rest_s)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120.0),
        (" 7 ", 7.0),
        ("Thu, 01 Jan 2026 00:01:00 GMT", 60.0),
        ("Thu, 01 Jan 2015 00:01:00 GMT", 0.0),
        ("soon", None),
        ("-1", None),
        ("9" * 400, None),
        ("", None),
        (None, None),
    ],
)
def test_retry_after_is_a_number_or_a_date(value, seconds):
    assert retry_after(value, datetime(2026, 1, 1, tzinfo=UTC)) == seconds
