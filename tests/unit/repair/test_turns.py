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
