"""Repair pages that try again by themselves."""

import pytest

from proxy.privacy.automaticretries import AutomaticRetries

URL = "http://busy.test/"


@pytest.mark.parametrize(("asked", "chance", "waits"), [(0, 0, 5), (30, 0, 30), (30, 1, 36), (601, 0, 0)])
def test_the_wait_is_bounded_and_spread(asked, chance, waits):
    assert AutomaticRetries(chance=lambda: chance).wait_s("ann", URL, asked) == waits


def test_five_tries_are_enough_for_an_hour():
    now = [0.0]
    retries = AutomaticRetries(clock=lambda: now[0], chance=lambda: 0)
    assert [retries.wait_s("ann", URL, 10) for _ in range(6)] == [10, 10, 10, 10, 10, 0]
    assert retries.wait_s("bob", URL, 10) == 10
    now[0] += 3_601
    assert retries.wait_s("ann", URL, 10) == 10
