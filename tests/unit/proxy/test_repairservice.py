"""proxy.mending: a miss in, its repair page out, however many there are."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from proxy.archives.findings import Findings
from proxy.mending import Mender, Miss, bare
from proxy.office import messages
from proxy.office.wire import encoded
from proxy.pages.repairpage import render
from repair.errors import CollectionError
from repair.memento.model import TimeMap
from repair.model import Click, HeldPage, RankedAlternatives
from repair.turns import Turns
from tests.make import A_MOMENT, a_broken_link
from tests.offers import a_context, an_alternative

LINK = a_broken_link()


class Shop:
    """A mender whose repairs wait until `go_on`, over a page of which a copy is held."""

    def __init__(self, *, at_once=64, abreast=2):
        self.go_on = asyncio.Event()
        self.go_on.set()
        self.noted = []
        self.fault = None
        self.drawing = ThreadPoolExecutor(1, thread_name_prefix="draw")
        self.turns = Turns(at_once=at_once, abreast=abreast)
        self.mender = Mender(self, self, self.turns, self, self.drawing)

    async def repair(self, link, *, within_s=None, click=None):
        await self.go_on.wait()
        return RankedAlternatives(link=link, alternatives=(an_alternative("http://school.test/new"),))

    async def page(self, url):
        return HeldPage(
            url=url, title="", text="", language="", fetched_at=A_MOMENT, pinned=False, has_copy=True
        )

    def note(self, miss_id, client, link, *, ask):
        self.noted.append((miss_id, client, link.url, ask))

    async def remembered(self, link, *, ask):
        if self.fault:
            raise self.fault
        return Findings(link=link, found=TimeMap(url=link.url))


@pytest.fixture
async def shop():
    made = Shop()
    yield made
    made.drawing.shutdown()


def a_miss(**known):
    return Miss(
        link=LINK, click=Click(), client="reader", context=a_context(miss_id="m1"), **{"ask": True, **known}
    )


async def test_a_miss_is_answered_by_what_is_offered_and_the_page_that_says_so(shop):
    mended = await shop.mender.mend(a_miss(), within_s=5.0)
    assert [each.url for each in mended.found.alternatives] == ["http://school.test/new"]
    assert b'data-url="http://school.test/new"' in mended.page.body
    assert shop.noted == [("m1", "reader", LINK.url, True)]


async def test_past_the_limit_the_page_goes_out_at_once_with_the_copy_that_is_held():
    shop = Shop(at_once=1)
    shop.go_on.clear()
    waiting = asyncio.create_task(shop.mender.mend(a_miss(), within_s=60.0))
    await asyncio.sleep(0)
    mended = await shop.mender.mend(a_miss(), within_s=60.0)
    assert not waiting.done()
    assert (mended.found.alternatives, mended.found.copy_at) == ((), A_MOMENT)
    assert b'data-source="copy"' in mended.page.body
    assert shop.turns.turned_away == 1
    shop.go_on.set()
    assert (await waiting).found.alternatives
    shop.drawing.shutdown()


async def test_whose_turn_does_not_come_in_time_gets_what_is_known(shop, caplog):
    shop.go_on.clear()
    mended = await shop.mender.mend(a_miss(), within_s=0.01)
    assert (mended.found.alternatives, mended.found.copy_at) == ((), A_MOMENT)
    assert "no repair within" in caplog.text
    assert shop.turns.under_way == 0


async def test_where_archives_are_off_nobody_waits_for_them_and_nothing_is_promised(shop, caplog):
    shop.fault = TimeoutError()
    off = (await shop.mender.mend(a_miss(ask=False), within_s=5.0)).page.body
    assert b'id="archives"' not in off
    assert b'id="archives"' not in bare(a_miss(ask=False)).page.body
    assert "archives" not in caplog.text
    on = (await shop.mender.mend(a_miss(), within_s=5.0)).page.body
    assert b"data-next" in on
    assert "nothing of archives" in caplog.text


async def test_what_archives_said_may_be_damaged_or_not_to_be_looked_up(shop):
    shop.fault = CollectionError("malformed")
    assert b'data-url="http://school.test/new"' in (await shop.mender.mend(a_miss(), within_s=5.0)).page.body
    shop.noted.clear()
    await shop.mender.mend(a_miss(ask=None), within_s=5.0)
    assert shop.noted == []


async def test_pages_are_not_drawn_on_the_event_loop(shop, monkeypatch):
    drawn_in = []

    def watched(found, context):
        drawn_in.append(threading.current_thread().name)
        return render(found, context)

    monkeypatch.setattr("proxy.mending.render", watched)
    await shop.mender.mend(a_miss(), within_s=5.0)
    assert drawn_in == ["draw_0"]


def test_a_miss_and_its_page_can_be_said_on_the_line():
    miss = a_miss(ask=None)
    asked = messages.Asked(id=1, question=messages.Mend(miss=miss, within_s=2.0), within_s=3.0)
    assert messages.TO_OFFICE.decode(encoded(asked)) == asked
    mended = bare(miss)
    assert messages.MENDED.decode(encoded(mended)) == mended
