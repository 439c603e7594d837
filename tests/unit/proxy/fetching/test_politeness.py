import asyncio
import time

import pytest

from proxy.fetching.pace import Bandwidth, Turns


def test_bytes_are_shared_out_over_all_who_take():
    bandwidth = Bandwidth(lambda: 10_000, clock=lambda: 7.0)
    assert [round(bandwidth.take(500), 2) for _ in range(4)] == [0.05, 0.1, 0.15, 0.2]


def test_what_was_not_used_is_not_saved_up():
    now = [0.0]
    bandwidth = Bandwidth(lambda: 10_000, clock=lambda: now[0])
    bandwidth.take(500)
    now[0] = 60.0
    assert bandwidth.take(500) == pytest.approx(0.05)


def test_without_a_limit_nobody_waits():
    assert Bandwidth(lambda: 0).take(10**9) == 0.0


def test_a_host_is_had_alone_and_with_a_pause():
    async def visited():
        turns, seen = Turns(), []

        async def visit():
            async with turns.at("a.test", pause_s=0.1):
                seen.append(time.monotonic())
                assert turns.busy() == {"a.test"}

        await asyncio.gather(visit(), visit())
        still = turns.busy()
        await asyncio.sleep(0.15)
        return seen[1] - seen[0], still, turns.busy()

    apart_s, still, later = asyncio.run(visited())
    assert apart_s >= 0.1
    assert (still, later) == ({"a.test"}, frozenset())


def test_hosts_that_are_done_with_are_forgotten():
    async def visited():
        turns = Turns()
        for number in range(3_000):
            async with turns.at(f"{number}.test", pause_s=0.0):
                pass
        return len(turns._turns)

    assert asyncio.run(visited()) <= 1_001
