import asyncio
import os
import time

import pytest

from proxy.fetching.politeness import Bandwidth, HostSlots
from repair.locks import lock_alone


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


def test_bandwidth_is_shared_by_processes_that_share_a_file(tmp_path):
    queue, crawl = (
        Bandwidth(lambda: 10_000, clock=lambda: 7.0, shared=tmp_path / "bandwidth.lock") for _ in range(2)
    )
    waits = [queue.take(500), crawl.take(500), crawl.take(500), queue.take(500)]
    assert waits == pytest.approx([0.05, 0.1, 0.15, 0.2])


def test_shared_bandwidth_goes_on_while_another_process_has_the_file(tmp_path):
    file = tmp_path / "bandwidth.lock"
    bandwidth = Bandwidth(lambda: 10_000, clock=lambda: 7.0, shared=file)
    handle = lock_alone(file)
    assert [bandwidth.take(500), bandwidth.take(500)] == pytest.approx([0.05, 0.1])
    os.close(handle)


@pytest.mark.parametrize("content", [b"", b"nonsense", b"99999999999.0"])
def test_shared_file_that_is_new_damaged_or_from_before_a_restart_delays_nothing(tmp_path, content):
    file = tmp_path / "bandwidth.lock"
    file.write_bytes(content)
    assert Bandwidth(lambda: 10_000, clock=lambda: 7.0, shared=file).take(500) == pytest.approx(0.05)
