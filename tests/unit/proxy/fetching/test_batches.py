import asyncio

import pytest

from proxy.fetching.batches import Batches


async def test_what_comes_while_a_batch_is_under_way_makes_up_the_next():
    seen, gate = [], asyncio.Event()

    async def work(things):
        seen.append(list(things))
        await gate.wait()
        return [thing * 10 for thing in things]

    batches = Batches(work, most=3)
    tasks = [asyncio.create_task(batches.do(1))]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    tasks += [asyncio.create_task(batches.do(number)) for number in (2, 3, 4, 5)]
    await asyncio.sleep(0)
    gate.set()
    assert await asyncio.gather(*tasks) == [10, 20, 30, 40, 50]
    assert seen == [[1], [2, 3, 4], [5]]
    await batches.finish()


async def test_batch_that_fails_fails_for_all_in_it_and_the_next_goes_on():
    async def work(things):
        if "bad" in things:
            raise ValueError("broken")
        return things

    batches = Batches(work, most=2)
    good, bad, later = await asyncio.gather(
        batches.do("good"), batches.do("bad"), batches.do("later"), return_exceptions=True
    )
    assert (str(good), str(bad), later) == ("broken", "broken", "later")


async def test_one_who_no_longer_waits_holds_up_nobody():
    async def work(things):
        return things

    batches = Batches(work, most=5)
    given_up = asyncio.create_task(batches.do(1))
    waiting = asyncio.create_task(batches.do(2))
    await asyncio.sleep(0)
    given_up.cancel()
    assert await waiting == 2
    with pytest.raises(asyncio.CancelledError):
        await given_up
