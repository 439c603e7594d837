"""proxy.repairservice: a miss in, its repair page out, however many there are."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from html import escape

import pytest

from proxy.pages.archivefindings import ArchiveFindings
from proxy.pages.repairpage import render
from proxy.portal.addresses import chose_path
from proxy.portal.routemodel import LateOffersRoute
from proxy.repairservice import KEPT_S, RepairPageService, RepairRequest, WideLane, bare_page
from proxy.rpc.methods import methods_of
from proxy.rpc.protocol import RepairService
from proxy.rpc.wire import TO_BACKEND, TO_WORKER, Call, Reply, encode
from repair.admission import AdmissionControl
from repair.errors import CollectionError
from repair.memento.model import TimeMap
from repair.model import Click, HeldPage, PlacedLink, RankedAlternatives, RankingOutcome
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
        self.ranked = []
        self.ranking_fails = False
        self.is_whole = True
        self.state = "first"
        self.now = 1000.0
        self.drawing = ThreadPoolExecutor(1, thread_name_prefix="draw")
        self.admission = AdmissionControl(at_once=at_once, abreast=abreast)
        self.repair_service = RepairPageService(
            self, self, self.admission, self, self.drawing, clock=lambda: self.now
        )

    def place(self, link, click):
        return PlacedLink(link=replace(link, source_url=click.referrer), state=self.state)

    async def rank(self, link, *, within_s=None):
        self.ranked.append(link.source_url)
        await self.go_on.wait()
        if self.ranking_fails:
            raise CollectionError("malformed")
        found = RankedAlternatives(link=link, alternatives=(an_alternative("http://school.test/new"),))
        return RankingOutcome(found=found, is_whole=self.is_whole)

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


ANOTHER = Click(referrer="http://school.test/another")


def a_miss(miss_id="m1", language="en", **known):
    context = a_context(miss_id=miss_id, language=language)
    defaults = {"link": LINK, "click": Click(), "client": "reader", "context": context, "ask": True}
    return RepairRequest(**{**defaults, **known})


async def until(is_true):
    async with asyncio.timeout(5):
        while not is_true():
            await asyncio.sleep(0.001)


def asked(shop, *misses, within_s=60.0):
    return [asyncio.create_task(shop.repair_service.repair_page(miss, within_s=within_s)) for miss in misses]


async def test_miss_is_answered_with_alternatives_and_page(shop):
    response = await shop.repair_service.repair_page(a_miss(), within_s=5.0)
    assert [each.url for each in response.found.alternatives] == ["http://school.test/new"]
    assert b'data-url="http://school.test/new"' in response.page.body
    assert shop.noted == [("m1", "reader", LINK.url, True)]


async def test_over_the_limit_the_page_has_only_the_saved_copy():
    shop = Shop(at_once=1)
    shop.go_on.clear()
    waiting = asyncio.create_task(shop.repair_service.repair_page(a_miss(), within_s=60.0))
    await until(lambda: shop.ranked)
    response = await shop.repair_service.repair_page(a_miss(click=ANOTHER), within_s=60.0)
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


async def test_thirty_readers_of_one_dead_link_need_one_ranking_and_one_place(shop):
    shop.go_on.clear()
    waiting = asked(shop, *(a_miss(f"miss{n}", client=f"reader{n}", device=f"device{n}") for n in range(30)))
    await until(lambda: shop.ranked and shop.repair_service.collapsed == 29)
    assert shop.admission.in_progress == 1
    shop.go_on.set()
    pages = [response.page.body for response in await asyncio.gather(*waiting)]
    assert len(shop.ranked) == 1
    assert all(escape(chose_path(f"miss{n}", 1)) in page.decode() for n, page in enumerate(pages))
    assert all(
        page.replace(f"miss{n}".encode(), b"") == pages[0].replace(b"miss0", b"")
        for n, page in enumerate(pages)
    )
    assert sorted(shop.noted) == sorted((f"miss{n}", f"reader{n}", LINK.url, True) for n in range(30))


async def test_each_reader_gets_the_page_in_their_language(shop):
    english, spanish = await asyncio.gather(*asked(shop, a_miss(), a_miss(language="es")))
    assert (b'lang="en"' in english.page.body, b'lang="es"' in spanish.page.body) == (True, True)
    assert len(shop.ranked) == 1


async def test_readers_who_came_from_other_pages_get_their_own_lists(shop):
    one, other = await asyncio.gather(*asked(shop, a_miss(), a_miss(click=ANOTHER)))
    assert shop.ranked == [None, ANOTHER.referrer]
    assert (one.found.link.source_url, other.found.link.source_url) == (None, ANOTHER.referrer)


async def repaired(shop, **known):
    """How many rankings it takes to answer a miss."""
    before = len(shop.ranked)
    await shop.repair_service.repair_page(a_miss(**known), within_s=60.0)
    return len(shop.ranked) - before


async def test_a_ranking_is_remembered_while_nothing_changes(shop):
    assert [await repaired(shop), await repaired(shop)] == [1, 0]
    shop.state = "second"
    assert [await repaired(shop), await repaired(shop)] == [1, 0]
    shop.repair_service.forget("http://school.test/elsewhere")
    assert await repaired(shop) == 0
    shop.repair_service.forget(LINK.url)
    assert [await repaired(shop), await repaired(shop)] == [1, 0]
    shop.repair_service.forget()
    assert await repaired(shop) == 1


async def test_just_after_a_change_a_ranking_is_remembered_for_a_moment_only(shop):
    assert await repaired(shop) == 1
    shop.now += 2.0
    assert [await repaired(shop), await repaired(shop)] == [1, 0]
    shop.now += 30.0
    assert await repaired(shop) == 0
    shop.now += KEPT_S
    assert await repaired(shop) == 1


async def test_a_ranking_that_lacks_evidence_or_failed_is_not_remembered(shop):
    shop.is_whole = False
    assert [await repaired(shop), await repaired(shop)] == [1, 1]
    shop.ranking_fails = True
    for _ in range(2):
        with pytest.raises(CollectionError):
            await repaired(shop)
    assert len(shop.ranked) == 4


async def test_what_archives_failed_to_say_is_asked_again(shop):
    shop.fault = CollectionError("malformed")
    await repaired(shop)
    shop.fault = None
    assert b"data-next" in (await shop.repair_service.repair_page(a_miss(), within_s=5.0)).page.body


async def test_a_reader_who_gives_up_takes_nobody_along(shop):
    shop.go_on.clear()
    impatient, patient = asked(shop, a_miss("m1"), a_miss("m2"))
    await until(lambda: shop.repair_service.collapsed == 1)
    impatient.cancel()
    shop.go_on.set()
    assert (await patient).found.alternatives
    assert len(shop.ranked) == 1


async def test_when_all_have_given_up_the_place_is_free(shop):
    shop.go_on.clear()
    waiting = asked(shop, a_miss("m1"), a_miss("m2"))
    await until(lambda: shop.repair_service.collapsed == 1)
    for each in waiting:
        each.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    await until(lambda: shop.admission.in_progress == 0)
    shop.go_on.set()
    assert await repaired(shop) == 1


async def test_readers_do_not_lose_their_list_with_the_device_that_asked_first():
    shop = Shop(at_once=4, abreast=1)
    shop.go_on.clear()
    noisy = [
        a_miss(f"n{n}", click=Click(referrer=f"http://school.test/{n}"), device="noisy") for n in range(4)
    ]
    waiting = asked(shop, *noisy)
    await until(lambda: shop.admission.in_progress == 4)
    follower = asked(shop, replace(noisy[-1], device="quiet"))
    await until(lambda: shop.repair_service.collapsed == 1)
    others = asked(
        shop, a_miss("o1", click=ANOTHER, device="other")
    )  # the last of the longest queue makes room
    await until(lambda: shop.admission.refused)
    shop.go_on.set()
    assert all(response.found.alternatives for response in await asyncio.gather(*follower, *others))
    await asyncio.gather(*waiting)
    shop.drawing.shutdown()


async def test_an_id_that_could_be_anything_is_never_pasted_into_a_page(shop):
    page = (await shop.repair_service.repair_page(a_miss('"><script>'), within_s=5.0)).page.body
    assert b'"><script>' not in page


async def test_pages_are_not_rendered_on_the_event_loop(shop, monkeypatch):
    drawn_in = []

    def watched(found, context):
        drawn_in.append(threading.current_thread().name)
        return render(found, context)

    monkeypatch.setattr("proxy.repairservice.render", watched)
    await shop.repair_service.repair_page(a_miss(), within_s=5.0)
    assert drawn_in == ["draw_0"]


class District:
    """Ranks more pages than the shop has, when `go_on` is set."""

    def __init__(self):
        self.go_on = asyncio.Event()
        self.ranked = 0
        self.is_there = True
        self.alternatives = (
            an_alternative("http://other.test/new", "From another school", source="shared", confidence=0.9),
            an_alternative("http://school.test/new"),
        )

    async def rank(self, link, *, within_s=None):
        self.ranked += 1
        await self.go_on.wait()
        found = RankedAlternatives(link=link, alternatives=self.alternatives)
        return RankingOutcome(found=found, is_whole=True)


@pytest.fixture
async def district(shop):
    made = District()
    shop.added = []
    lane = WideLane(
        repairer=made,
        admission=AdmissionControl(at_once=8, abreast=2),
        is_there=lambda: made.is_there,
        patience_s=0.05,
    )
    shop.repair_service = RepairPageService(
        shop,
        shop,
        shop.admission,
        shop,
        shop.drawing,
        wide=lane,
        on_late_offers=lambda *told: shop.added.append(told),
        clock=lambda: shop.now,
    )
    return made


MISS_ID = "m" * 22
LATE = LateOffersRoute(miss_id=MISS_ID, part=True)


async def page_of(shop, **known):
    response = await shop.repair_service.repair_page(a_miss(MISS_ID, **known), within_s=5.0)
    return response.page.body.decode()


async def test_a_page_does_not_wait_for_the_district_and_is_added_to_afterwards(shop, district):
    page = await page_of(shop)
    assert (district.ranked, 'data-url="http://school.test/new"' in page) == (0, True)
    assert f'data-next="/.well-known/linkmend/late?miss={MISS_ID}&amp;part=1"' in page
    district.go_on.set()
    late = (await shop.repair_service.late_offers(LATE, "en", "reader")).body.decode()
    assert 'data-url="http://other.test/new" data-source="shared"' in late
    assert "Better match" in late
    assert 'data-url="http://school.test/new"' not in late
    assert escape(chose_path(MISS_ID, 2)) in late
    assert shop.added == [(MISS_ID, "reader", 2, ("http://other.test/new",))]


async def test_what_came_late_is_on_the_page_of_the_next_reader_at_once(shop, district):
    district.go_on.set()
    await page_of(shop)
    await shop.repair_service.late_offers(LATE, "en", "reader")
    page = await page_of(shop, client="another")
    assert 'data-url="http://other.test/new"' in page
    assert 'id="late"' not in page
    assert (len(shop.ranked), district.ranked) == (1, 1)


async def test_only_the_reader_of_a_page_is_shown_what_came_late(shop, district):
    district.go_on.set()
    await page_of(shop)
    assert await shop.repair_service.late_offers(LATE, "en", "another") is None
    unknown = LateOffersRoute(miss_id="x" * 22, part=True)
    assert await shop.repair_service.late_offers(unknown, "en", "reader") is None
    assert district.ranked == 0


async def test_a_program_waits_for_the_district_but_not_for_long(shop, district):
    context = a_context(miss_id=MISS_ID, as_json=True)
    first = await shop.repair_service.repair_page(a_miss(context=context), within_s=5.0)
    assert [each.url for each in first.found.alternatives] == ["http://school.test/new"]
    district.go_on.set()
    second = await shop.repair_service.repair_page(a_miss(context=context), within_s=5.0)
    assert second.found.alternatives == district.alternatives


async def test_a_program_that_waits_for_the_district_in_vain_gets_the_schools_own_pages_in_time(
    shop, district
):
    context = a_context(miss_id=MISS_ID, as_json=True)
    shop.repair_service._wide = replace(shop.repair_service._wide, patience_s=60.0)
    response = await shop.repair_service.repair_page(a_miss(context=context), within_s=0.5)
    assert [each.url for each in response.found.alternatives] == ["http://school.test/new"]


async def test_nothing_is_promised_while_the_district_is_away(shop, district):
    district.is_there = False
    assert 'id="late"' not in await page_of(shop)
    context = a_context(miss_id=MISS_ID, as_json=True)
    await shop.repair_service.repair_page(a_miss(context=context), within_s=5.0)
    assert district.ranked == 0


async def test_a_district_that_never_answers_adds_nothing(shop, district):
    await shop.repair_service.repair_page(a_miss(MISS_ID), within_s=0.2)
    late = (await shop.repair_service.late_offers(LATE, "en", "reader")).body.decode()
    assert ("data-url" in late, "data-next" in late, shop.added) == (False, False, [])


async def test_readers_without_scripts_find_what_came_late_on_a_page_of_its_own(shop, district):
    assert f'<noscript><p class="small"><a href="/.well-known/linkmend/late?miss={MISS_ID}"' in await page_of(
        shop
    )
    district.go_on.set()
    page = await shop.repair_service.late_offers(replace(LATE, part=False), "es", "reader")
    assert 'data-url="http://other.test/new"' in page.body.decode()
    assert '<html lang="es"' in page.body.decode()


async def test_what_came_late_for_a_page_in_a_frame_reports_no_clicks(shop, district):
    district.go_on.set()
    await page_of(shop, context=a_context(miss_id=MISS_ID, framed=True))
    late = (await shop.repair_service.late_offers(LATE, "en", "reader")).body.decode()
    assert ("data-url" in late, "ping=" in late) == (True, False)


def test_a_miss_and_its_page_can_be_sent_to_another_process():
    class Backend:
        def repair_page(self, miss, *, within_s):
            return miss, within_s

    repair_page, _ = methods_of(RepairService)
    miss = a_miss(ask=None)
    sent = TO_BACKEND.decode(encode(Call(repair_page.name, (miss, 2.0), 1, 3.0)))
    assert repair_page.call(Backend(), sent.arguments) == (miss, 2.0)
    response = bare_page(miss)
    assert repair_page.read_result(TO_WORKER.decode(encode(Reply(1, response))).value) == response
