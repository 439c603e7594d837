import asyncio
import time

from proxy.fetching.hostturns import HostTurns
from proxy.fetching.politeness import HostSlots
from repair.locks import lock_alone


def test_two_processes_take_turns_at_a_host_with_a_pause(tmp_path):
    """Each has its own object over the folder, as two processes would."""

    async def visited():
        seen = []

        async def visit(slots):
            async with slots.at("a.test", pause_s=0.1):
                seen.append(time.monotonic())

        await asyncio.gather(*(visit(HostSlots(turns=HostTurns(tmp_path))) for _ in range(3)))
        return seen

    first, second, third = asyncio.run(visited())
    assert second - first >= 0.095
    assert third - second >= 0.095


def test_pause_outlives_the_process_that_was_killed_in_a_request(tmp_path):
    now = [1000.0]

    async def killed():
        turn = HostTurns(tmp_path, clock=lambda: now[0]).at("a.test", pause_s=5.0)
        await turn.__aenter__()
        (path,) = tmp_path.iterdir()
        assert lock_alone(path) is None  # held during the request
        return path.read_text()

    assert float(asyncio.run(killed())) == 1005.0


def test_hosts_do_not_wait_for_each_other(tmp_path):
    async def visited():
        turns = HostTurns(tmp_path)
        async with turns.at("a.test", pause_s=60.0), asyncio.timeout(5), turns.at("b.test", pause_s=60.0):
            return True

    assert asyncio.run(visited())


def test_file_that_was_cut_off_means_no_pause(tmp_path):
    async def visited():
        turns = HostTurns(tmp_path)
        async with turns.at("a.test", pause_s=0.0):
            pass
        (path,) = tmp_path.iterdir()
        path.write_text("no number")
        async with asyncio.timeout(5), turns.at("a.test", pause_s=0.0):
            return True

    assert asyncio.run(visited())


def test_host_that_asked_for_rest_is_left_alone_by_other_processes_too(tmp_path):
    now = [1000.0]
    here, there = (HostTurns(tmp_path, clock=lambda: now[0]) for _ in range(2))

    async def rest():
        await here.rest("a.test", 0.2)
        began = time.monotonic()
        async with there.at("a.test", pause_s=0.0):
            return time.monotonic() - began

    assert asyncio.run(rest()) >= 0.19
