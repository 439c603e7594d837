"""repair.collapsing: identical work is done once."""

import asyncio

import pytest

from repair.collapsing import MadeResult, ResultCollapser


class Kitchen:
    """Makes results when it is told to, and counts them."""

    def __init__(self, *, limit=10):
        self.now = 0.0
        self.begun = 0
        self.cancelled = 0
        self.keep_s = 0.0
        self.fault = None
        self.go_on = asyncio.Event()
        self.results = ResultCollapser(limit=limit, clock=lambda: self.now)

    async def make(self):
        self.begun += 1
        number = self.begun
        try:
            await self.go_on.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self.fault:
            raise self.fault
        return MadeResult(value=number, keep_s=self.keep_s)

    def ask(self, *keys):
        return [asyncio.create_task(self.results.get(key, self.make)) for key in keys]

    async def made(self, key):
        self.go_on.set()
        return await self.results.get(key, self.make)


async def settled():
    for _ in range(10):
        await asyncio.sleep(0)


async def test_who_asks_for_the_same_waits_for_the_same():
    kitchen = Kitchen()
    waiting = kitchen.ask("a", "a", "b", "a")
    await settled()
    kitchen.go_on.set()
    assert await asyncio.gather(*waiting) == [1, 1, 2, 1]
    assert (kitchen.results.made, kitchen.results.collapsed) == (2, 2)


async def test_without_leave_to_keep_it_a_result_is_made_anew():
    kitchen = Kitchen()
    assert [await kitchen.made("a"), await kitchen.made("a")] == [1, 2]


async def test_a_result_is_kept_from_when_its_making_began():
    kitchen = Kitchen()
    kitchen.keep_s = 10.0
    (waiting,) = kitchen.ask("a")
    await settled()
    kitchen.now = 6.0
    assert [await kitchen.made("a"), await waiting] == [1, 1]
    kitchen.now = 9.0
    assert await kitchen.made("a") == 1
    kitchen.now = 10.0
    assert await kitchen.made("a") == 2


async def test_only_the_newest_results_are_kept():
    kitchen = Kitchen(limit=2)
    kitchen.keep_s = 10.0
    assert [await kitchen.made(key) for key in "abc"] == [1, 2, 3]
    assert [await kitchen.made(key) for key in "cba"] == [3, 2, 4]


async def test_a_failure_reaches_everybody_and_is_not_kept():
    kitchen = Kitchen()
    kitchen.keep_s, kitchen.fault = 10.0, OSError("full")
    waiting = kitchen.ask("a", "a")
    await settled()
    kitchen.go_on.set()
    assert [type(each) for each in await asyncio.gather(*waiting, return_exceptions=True)] == [
        OSError,
        OSError,
    ]
    kitchen.fault = None
    assert await kitchen.made("a") == 2


@pytest.mark.parametrize("first", [0, 1])
async def test_who_gives_up_cancels_nobody_else(first):
    kitchen = Kitchen()
    waiting = kitchen.ask("a", "a")
    await settled()
    waiting[first].cancel()
    await settled()
    kitchen.go_on.set()
    assert await waiting[1 - first] == 1
    assert kitchen.cancelled == 0


async def test_the_last_to_give_up_ends_the_work_and_the_next_begins_anew():
    kitchen = Kitchen()
    waiting = kitchen.ask("a", "a")
    await settled()
    for each in waiting:
        each.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    following = kitchen.ask("a")
    await settled()
    assert (kitchen.cancelled, kitchen.begun) == (1, 2)
    kitchen.go_on.set()
    assert await asyncio.gather(*following) == [2]


async def test_what_is_forgotten_is_neither_given_nor_joined_nor_kept():
    kitchen = Kitchen()
    kitchen.keep_s = 10.0
    waiting = kitchen.ask("a", "b")
    await settled()
    kitchen.results.forget(lambda key: key == "a")
    later = kitchen.ask("a", "b")
    await settled()
    kitchen.go_on.set()
    assert await asyncio.gather(*waiting, *later) == [1, 2, 3, 2]
    assert await kitchen.made("a") == 3
    kitchen.results.forget()
    assert await kitchen.made("a") == 4


async def test_what_is_dropped_is_made_anew_and_what_is_being_made_goes_on():
    kitchen = Kitchen()
    kitchen.keep_s = 10.0
    await kitchen.made("a")
    kitchen.go_on.clear()
    waiting = kitchen.ask("b")
    await settled()
    kitchen.results.drop()
    waiting += kitchen.ask("b", "a")
    await settled()
    kitchen.go_on.set()
    assert await asyncio.gather(*waiting) == [2, 2, 3]
