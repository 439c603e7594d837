import asyncio

import pytest

from repair.model import HeldPage, RankedAlternatives
from repair.turns import TakingTurns, TooMany, Turns
from tests.make import A_MOMENT, a_broken_link

LINK = a_broken_link()


class SlowRepairer:
    """Notes who began; each goes on when all may."""

    def __init__(self):
        self.go_on = asyncio.Event()
        self.begun = []

    async def repair(self, link, *, within_s=None, click=None):
        self.begun.append(link.url)
        await self.go_on.wait()
        return RankedAlternatives(link=link, query="ranked")


class Held:
    async def page(self, url):
        return HeldPage(
            url=url, title="", text="", language="", fetched_at=A_MOMENT, pinned=False, has_copy=True
        )


async def settled():
    for _ in range(10):
        await asyncio.sleep(0)


async def test_past_the_limit_a_link_is_answered_at_once_with_the_copy_that_is_held():
    repairer, turns = SlowRepairer(), Turns(at_once=2, abreast=2)
    taking = TakingTurns(repairer, Held(), turns)
    waiting = [asyncio.create_task(taking.repair(LINK)) for _ in range(2)]
    await settled()
    assert await taking.repair(LINK) == RankedAlternatives(link=LINK, copy_at=A_MOMENT)
    assert turns.turned_away == 1
    repairer.go_on.set()
    assert [found.query for found in await asyncio.gather(*waiting)] == ["ranked"] * 2
    assert turns.under_way == 0


async def test_few_are_worked_on_abreast_and_the_others_wait_in_the_order_they_came():
    repairer = SlowRepairer()
    taking = TakingTurns(repairer, Held(), Turns(at_once=50, abreast=2))
    links = [a_broken_link(f"http://school.test/{n}") for n in range(50)]
    waiting = [asyncio.create_task(taking.repair(link)) for link in links]
    await settled()
    assert repairer.begun == [link.url for link in links[:2]]
    repairer.go_on.set()
    await asyncio.gather(*waiting)
    assert repairer.begun == [link.url for link in links]


async def test_a_turn_ends_also_when_nobody_waits_any_more():
    repairer, turns = SlowRepairer(), Turns(at_once=2, abreast=1)
    waiting = [asyncio.create_task(TakingTurns(repairer, Held(), turns).repair(LINK)) for _ in range(2)]
    await settled()
    for task in waiting:  # one at work, one in the queue
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert turns.under_way == 0
    async with turns.turn():
        assert turns.under_way == 1


async def test_who_comes_when_too_many_wait_is_told_so_and_takes_no_place():
    turns = Turns(at_once=1, abreast=1)
    async with turns.turn():
        with pytest.raises(TooMany):
            async with turns.turn():
                pass
        assert turns.under_way == 1


async def test_devices_take_turns_with_each_other():
    turns, order = Turns(at_once=50, abreast=1), []

    async def work(device, number):
        async with turns.turn(device):
            order.append((device, number))
            await asyncio.sleep(0)

    tasks = [asyncio.create_task(work("greedy", number)) for number in range(20)]
    await settled()
    late = asyncio.create_task(work("other", 0))
    await asyncio.gather(*tasks, late)
    assert order.index(("other", 0)) < len(order) - 5
    assert [number for device, number in order if device == "greedy"] == list(range(20))


async def test_one_device_leaves_room_for_others_when_there_is_none():
    turns, go_on, done = Turns(at_once=4, abreast=1), asyncio.Event(), []

    async def work(device):
        async with turns.turn(device):
            await go_on.wait()
        done.append(device)

    greedy = [asyncio.create_task(work("greedy")) for _ in range(10)]
    await settled()
    others = [asyncio.create_task(work("other")) for _ in range(3)]
    await settled()
    go_on.set()
    found = await asyncio.gather(*greedy, *others, return_exceptions=True)
    assert done.count("other") >= 1
    assert done.count("greedy") + done.count("other") == 4
    assert sum(isinstance(each, TooMany) for each in found) == 9 == turns.turned_away
    assert turns.under_way == 0


async def test_who_gives_up_waiting_takes_nobodys_turn():
    turns, go_on = Turns(at_once=10, abreast=1), asyncio.Event()

    async def work():
        async with turns.turn("a"):
            await go_on.wait()

    tasks = [asyncio.create_task(work()) for _ in range(4)]
    await settled()
    tasks[1].cancel()
    await settled()
    tasks[2].cancel()
    go_on.set()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert turns.under_way == 0
    async with asyncio.timeout(1), turns.turn("b"):
        assert turns.under_way == 1
