import asyncio
import time

import pytest

from proxy.fetching.politeness import Bandwidth, HostSlots


def test_bandwidth_is_shared_by_all_fetches():
    bandwidth = Bandwidth(lambda: 10_000, clock=lambda: 7.0)
    assert [round(bandwidth.take(500), 2) for _ in range(4)] == [0.05, 0.1, 0.15, 0.2]


def test_unused_bandwidth_is_not_saved():
    now = [0.0]
    bandwidth = Bandwidth(lambda: 10_000, clock=lambda: now[0])
    bandwidth.take(500)
    now[0] = 60.0
    assert bandwidth.take(500) == pytest.approx(0.05)


def test_without_a_limit_nobody_waits():
    assert Bandwidth(lambda: 0).take(10**9) == 0.0


def test_host_slot_is_exclusive_with_a_pause():
    async def visited():
        slots, seen = HostSlots(), []

        async def visit():
            async with slots.at("a.test", pause_s=0.1):
                seen.append(time.monotonic())
                assert slots.busy() == {"a.test"}

        await asyncio.gather(visit(), visit())
        still = slots.busy()
        await asyncio.sleep(0.15)
        return seen[1] - seen[0], still, slots.busy()

    apart_s, still, later = asyncio.run(visited())
    assert apart_s >= 0.1
    assert (still, later) == ({"a.test"}, frozenset())


def test_idle_hosts_are_forgotten():
    async def visited():
        slots = HostSlots()
        for number in range(3_000):
            async with slots.at(f"{number}.test", pause_s=0.0):
                pass
        return len(slots._slots)

    assert asyncio.run(visited()) <= 1_001
