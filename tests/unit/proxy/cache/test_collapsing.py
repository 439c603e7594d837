import asyncio

from proxy.cache.collapsing import RequestCollapser
from proxy.cache.leases import LeaseTable, WorkerLeases


async def all_waiting():
    """Lets every task run up to where it waits."""
    for _ in range(5):
        await asyncio.sleep(0)


async def test_the_first_leads_and_thirty_others_wait_until_it_lands():
    collapser = RequestCollapser()
    assert collapser.lead("a")
    assert not any(collapser.lead("a") for _ in range(30))
    waiting = [asyncio.create_task(collapser.wait("a", 60)) for _ in range(30)]
    await all_waiting()
    assert not any(task.done() for task in waiting)
    collapser.finish("a")
    assert await asyncio.gather(*waiting) == [True] * 30


async def test_what_has_landed_is_not_waited_for():
    collapser = RequestCollapser()
    collapser.lead("a")
    collapser.finish("a")
    assert await collapser.wait("a", 60)


async def test_after_landing_another_may_lead():
    collapser = RequestCollapser()
    collapser.lead("a")
    collapser.finish("a")
    assert collapser.lead("a")


def test_landing_twice_or_without_a_flight_does_no_harm():
    collapser = RequestCollapser()
    collapser.finish("a")
    collapser.lead("a")
    collapser.finish("a")
    collapser.finish("a")
    assert len(collapser) == 0


def test_keys_do_not_hold_each_other_up():
    collapser = RequestCollapser()
    assert collapser.lead("a")
    assert collapser.lead("b")


async def test_who_waits_too_long_is_told_and_may_take_over():
    collapser = RequestCollapser()
    collapser.lead("a")
    assert not await collapser.wait("a", 0)
    assert collapser.lead("a")
    assert not collapser.lead("a"), "only one of them"


async def test_those_still_waiting_for_a_dead_leader_are_released_by_the_one_who_took_over():
    collapser = RequestCollapser()
    collapser.lead("a")
    patient = asyncio.create_task(collapser.wait("a", 60))
    await all_waiting()
    await collapser.wait("a", 0)
    collapser.lead("a")
    collapser.finish("a")
    assert await patient


async def test_a_cancelled_waiter_leaves_the_flight_to_the_others():
    collapser = RequestCollapser()
    collapser.lead("a")
    one, other = (asyncio.create_task(collapser.wait("a", 60)) for _ in range(2))
    await all_waiting()
    one.cancel()
    collapser.finish("a")
    assert await other


async def test_flights_that_nobody_lands_are_forgotten():
    now = 0.0
    collapser = RequestCollapser(lost_after_s=600, clock=lambda: now)
    for number in range(100):
        collapser.lead(str(number))
    waiting = asyncio.create_task(collapser.wait("5", 10_000))
    await all_waiting()
    now = 601.0
    assert collapser.lead("new")
    assert len(collapser) == 1
    assert await waiting


async def test_no_entry_is_left_after_many_requests():
    collapser = RequestCollapser()

    async def request(key):
        if collapser.lead(key):
            await asyncio.sleep(0)
            collapser.finish(key)
        else:
            assert await collapser.wait(key, 60)

    await asyncio.gather(*(request(str(number % 7)) for number in range(500)))
    assert len(collapser) == 0


def two_workers():
    table = LeaseTable()
    return RequestCollapser(WorkerLeases(table, 1)), RequestCollapser(WorkerLeases(table, 2))


async def test_a_request_waits_for_the_fetch_of_another_worker():
    one, two = two_workers()
    assert one.lead("a")
    assert not two.lead("a")
    waiting = asyncio.create_task(two.wait("a", 60))
    await all_waiting()
    assert not waiting.done()
    one.finish("a")
    assert await waiting
    assert two.lead("a")


async def test_a_fetch_of_another_worker_that_takes_too_long_is_taken_over_once():
    one, two = two_workers()
    one.lead("a")
    assert not await two.wait("a", 0)
    assert two.lead("a")
    assert not two.lead("a")
    one.finish("a")
    assert not one.lead("a"), "the second worker still fetches"
    two.finish("a")
    assert one.lead("a")
