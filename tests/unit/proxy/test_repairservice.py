"""proxy.repairservice: a miss in, its repair page out, however many there are."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from proxy.pages.archivefindings import ArchiveFindings
from proxy.pages.repairpage import render
from proxy.repairservice import RepairPageService, RepairRequest, bare_page
from proxy.rpc.methods import methods_of
from proxy.rpc.protocol import RepairService
from proxy.rpc.wire import TO_BACKEND, TO_WORKER, Call, Reply, encode
from repair.admission import AdmissionControl
from repair.errors import CollectionError
from repair.memento.model import TimeMap
from repair.model import Click, HeldPage, RankedAlternatives
from tests.make import A_MOMENT, a_broken_link
from tests.offers import a_context, an_alternative

LINK = a_broken_link()


class Shop:
    """A repair service whose repairs wait until `go_on`, over a page with a saved copy."""

    def __init__(self, *, at_once=64, abreast=2):
        self.go_on = asyncio.Event()
        self.go_on.set()
        self.noted = []
        self.fault = None
        self.drawing = ThreadPoolExecutor(1, thread_name_prefix="draw")
        self.admission = AdmissionControl(at_once=at_once, abreast=abreast)
        self.repair_service = RepairPageService(self, self, self.admission, self, self.drawing)

    async def repair(self, link, *, within_s=None, click=None):
        await self.go_on.wait()
        return RankedAlternatives(link=link, alternatives=(an_alternative("http://school.test/new"),))

    async def page(self, url):
        return HeldPage(
            url=url, title="", text="", language="", fetched_at=A_MOMENT, pinned=False, has_copy=True
        )

    def note(self, miss_id, client, link, *, ask):
        self.noted.append((miss_id, client, link.url, ask))

    async def stored_findings(self, link, *, ask):
        if self.fault:
            raise self.fault
        return ArchiveFindings(link=link, found=TimeMap(url=link.url))


@pytest.fixture
async def shop():
    made = Shop()
    yield made
    made.drawing.shutdown()


def a_miss(**known):
    return RepairRequest(
        link=LINK, click=Click(), client="reader", context=a_context(miss_id="m1"), **{"ask": True, **known}
    )


async def test_miss_is_answered_with_alternatives_and_page(shop):
    response = await shop.repair_service.repair_page(a_miss(), within_s=5.0)
    assert [each.url for each in response.found.alternatives] == ["http://school.test/new"]
    assert b'data-url="http://school.test/new"' in response.page.body
    assert shop.noted == [("m1", "reader", LINK.url, True)]


async def test_over_the_limit_the_page_has_only_the_saved_copy():
    shop = Shop(at_once=1)
    shop.go_on.clear()
    waiting = asyncio.create_task(shop.repair_service.repair_page(a_miss(), within_s=60.0))
    await asyncio.sleep(0)
    response = await shop.repair_service.repair_page(a_miss(), within_s=60.0)
    assert not waiting.done()
    assert (response.found.alternatives, response.found.copy_at) == ((), A_MOMENT)
    assert b'data-source="copy"' in response.page.body
    assert shop.admission.refused == 1
    shop.go_on.set()
    assert (await waiting).found.alternatives
    shop.drawing.shutdown()


async def test_repair_not_admitted_in_time_gets_a_basic_page(shop, caplog):
    shop.go_on.clear()
    response = await shop.repair_service.repair_page(a_miss(), within_s=0.01)
    assert (response.found.alternatives, response.found.copy_at) == ((), A_MOMENT)
    assert "repair timed out after" in caplog.text
    assert shop.admission.in_progress == 0


async def test_disabled_archives_are_neither_awaited_nor_promised(shop, caplog):
    shop.fault = TimeoutError()
    off = (await shop.repair_service.repair_page(a_miss(ask=False), within_s=5.0)).page.body
    assert b'id="archives"' not in off
    assert b'id="archives"' not in bare_page(a_miss(ask=False)).page.body
    assert "archives" not in caplog.text
    on = (await shop.repair_service.repair_page(a_miss(), within_s=5.0)).page.body
    assert b"data-next" in on
    assert "archives: request timed out" in caplog.text


async def test_archive_lookup_failure_does_not_break_the_page(shop):
    shop.fault = CollectionError("malformed")
    assert (
        b'data-url="http://school.test/new"'
        in (await shop.repair_service.repair_page(a_miss(), within_s=5.0)).page.body
    )
    shop.noted.clear()
    await shop.repair_service.repair_page(a_miss(ask=None), within_s=5.0)
    assert shop.noted == []


async def test_pages_are_not_rendered_on_the_event_loop(shop, monkeypatch):
    drawn_in = []

    def watched(found, context):
        drawn_in.append(threading.current_thread().name)
        return render(found, context)

    monkeypatch.setattr("proxy.repairservice.render", watched)
    await shop.repair_service.repair_page(a_miss(), within_s=5.0)
    assert drawn_in == ["draw_0"]


def test_a_miss_and_its_page_can_be_sent_to_another_process():
    class Backend:
        def repair_page(self, miss, *, within_s):
            return miss, within_s

    (repair_page,) = methods_of(RepairService)
    miss = a_miss(ask=None)
    sent = TO_BACKEND.decode(encode(Call(repair_page.name, (miss, 2.0), 1, 3.0)))
    assert repair_page.call(Backend(), sent.arguments) == (miss, 2.0)
    response = bare_page(miss)
    assert repair_page.read_result(TO_WORKER.decode(encode(Reply(1, response))).value) == response
