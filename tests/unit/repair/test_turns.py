import asyncio

from repair.model import HeldPage, RankedAlternatives
from repair.turns import TakingTurns
from tests.make import A_MOMENT, a_broken_link

LINK = a_broken_link()


class SlowRepairer:
    def __init__(self):
        self.go_on = asyncio.Event()

    async def repair(self, link, *, within_s=None):
        await self.go_on.wait()
        return RankedAlternatives(link=link, query="ranked")

    async def infer_source(self, url, *, referrer, recent=()):
        return referrer, None


class Held:
    async def page(self, url):
        return HeldPage(
            url=url, title="", text="", language="", fetched_at=A_MOMENT, pinned=False, has_copy=True
        )


async def test_past_the_limit_a_link_is_answered_at_once_with_the_copy_that_is_held():
    repairer = SlowRepairer()
    turns = TakingTurns(repairer, Held(), at_once=2)
    waiting = [asyncio.create_task(turns.repair(LINK)) for _ in range(2)]
    await asyncio.sleep(0)
    assert await turns.repair(LINK) == RankedAlternatives(link=LINK, copy_at=A_MOMENT)
    assert await turns.infer_source(LINK.url, referrer="http://a.test/") == (None, None)
    assert turns.turned_away == 1
    repairer.go_on.set()
    assert [found.query for found in await asyncio.gather(*waiting)] == ["ranked"] * 2


async def test_a_turn_ends_also_when_nobody_waits_any_more():
    turns = TakingTurns(SlowRepairer(), Held(), at_once=1)
    waiting = asyncio.create_task(turns.repair(LINK))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert turns.under_way == 0
    assert await turns.infer_source(LINK.url, referrer="http://a.test/") == ("http://a.test/", None)
