import asyncio

from proxy.cache.flights import Flights


async def all_waiting():
    """Lets every task run up to where it waits."""
    for _ in range(5):
        await asyncio.sleep(0)


async def test_the_first_leads_and_thirty_others_wait_until_it_lands():
    flights = Flights()
    assert flights.lead("a")
    assert not any(flights.lead("a") for _ in range(30))
    waiting = [asyncio.create_task(flights.wait("a", 60)) for _ in range(30)]
    await all_waiting()
    assert not any(task.done() for task in waiting)
    flights.land("a")
    assert await asyncio.gather(*waiting) == [True] * 30


async def test_what_has_landed_is_not_waited_for():
    flights = Flights()
    flights.lead("a")
    flights.land("a")
    assert await flights.wait("a", 60)


async def test_after_landing_another_may_lead():
    flights = Flights()
    flights.lead("a")
    flights.land("a")
    assert flights.lead("a")


def test_landing_twice_or_without_a_flight_does_no_harm():
    flights = Flights()
    flights.land("a")
    flights.lead("a")
    flights.land("a")
    flights.land("a")
    assert len(flights) == 0


def test_keys_do_not_hold_each_other_up():
    flights = Flights()
    assert flights.lead("a")
    assert flights.lead("b")


async def test_who_waits_too_long_is_told_and_may_take_over():
    flights = Flights()
    flights.lead("a")
    assert not await flights.wait("a", 0)
    assert flights.lead("a")
    assert not flights.lead("a"), "only one of them"


async def test_those_still_waiting_for_a_dead_leader_are_released_by_the_one_who_took_over():
    flights = Flights()
    flights.lead("a")
    patient = asyncio.create_task(flights.wait("a", 60))
    await all_waiting()
    await flights.wait("a", 0)
    flights.lead("a")
    flights.land("a")
    assert await patient


async def test_a_cancelled_waiter_leaves_the_flight_to_the_others():
    flights = Flights()
    flights.lead("a")
    one, other = (asyncio.create_task(flights.wait("a", 60)) for _ in range(2))
    await all_waiting()
    one.cancel()
    flights.land("a")
    assert await other


async def test_flights_that_nobody_lands_are_forgotten():
    now = 0.0
    flights = Flights(lost_after_s=600, clock=lambda: now)
    for number in range(100):
        flights.lead(str(number))
    waiting = asyncio.create_task(flights.wait("5", 10_000))
    await all_waiting()
    now = 601.0
    assert flights.lead("new")
    assert len(flights) == 1
    assert await waiting


async def test_no_entry_is_left_after_many_requests():
    flights = Flights()

    async def request(key):
        if flights.lead(key):
            await asyncio.sleep(0)
            flights.land(key)
        else:
            assert await flights.wait(key, 60)

    await asyncio.gather(*(request(str(number % 7)) for number in range(500)))
    assert len(flights) == 0
