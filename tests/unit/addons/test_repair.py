"""addons.repair: when a reader gets a repair page, and what is noted of it."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import parse_qs, urlsplit

import pytest

from addons.flowstate import AnsweredBy, state_of
from addons.portalredirect import PortalRedirectMark, PortalReturn
from addons.repair import Repair, miss_of
from addons.rules import Rules
from proxy.failures import failure_of
from proxy.misses.store import MissStore
from proxy.networknames import parse_network_names
from proxy.portal.linkjudging import LinkMark
from proxy.portal.linkmarking import LinkMarker
from proxy.privacy.clients import ClientHasher
from proxy.privacy.portalredirect import PortalRedirects, split_mark
from proxy.privacy.recentpages import RecentPages
from proxy.privacy.serviceworkers import ServiceWorkerOrigins
from proxy.privacy.suppressed import SuppressedPage, SuppressedPages
from proxy.repairservice import RepairPageService
from proxy.rules.live import LiveRules
from proxy.rules.verdictcache import VerdictCache
from proxy.settings import MissesSettings
from repair.admission import AdmissionControl
from repair.collection.asynccollection import AsyncCollection
from repair.errors import CollectionError
from repair.model import HeldCopy, MissKind
from repair.pipeline import Repairer
from repair.settings import RepairSettings
from tests.archiving import archives_of
from tests.holdings import SITE, a_collection, a_document, a_link
from tests.make import A_MOMENT, a_flow

BROWSER = [("Accept", "text/html")]
GONE = (404, [("Content-Type", "text/html"), ("Cache-Status", "origin")], b"<h1>not here</h1>")


class DeadLink:
    """Knows that /dead leads nowhere."""

    async def marks(self, source_url, offline):
        return (LinkMark(target=f"{SITE}/dead"),)


class School:
    """A repair addon over a collection with a page about volcanoes, and the miss log it writes."""

    def __init__(self, folder):
        links = [a_link("/old-volcanoes", anchor="volcanoes and their eruptions")]
        self.collection = a_collection(
            folder / "collection",
            a_document("/start", title="Start", text="Read about volcanoes.", links=links),
            a_document("/earth/volcanoes", title="Volcanoes and their eruptions", text="Lava and ash. " * 20),
        )
        self.misses = MissStore(folder / "misses", MissesSettings())
        self.recent_pages, self.hasher = RecentPages(), ClientHasher()
        self.threads = ThreadPoolExecutor(2)
        self.offline = False
        self.suppressed = SuppressedPages()
        self.archives = archives_of(folder, self.collection, self.threads)
        self.live = LiveRules(folder / "rules.d")
        self.rules = Rules(VerdictCache(self.live), portal=lambda: True)
        reader = AsyncCollection(self.collection, self.threads)
        self.portal_redirects, self.use_portal_redirect = PortalRedirects(), True
        self.workers = ServiceWorkerOrigins()
        self.addon = Repair(
            RepairPageService(
                Repairer(self.collection, RepairSettings(), self.threads),
                reader,
                AdmissionControl(at_once=64, abreast=2),
                self.archives,
                self.threads,
            ),
            reader,
            self.misses,
            deadline_s=5.0,
            recent_pages=self.recent_pages,
            hasher=self.hasher,
            offline=lambda: self.offline,
            portal=lambda: True,
            suppressed=self.suppressed,
            archives=self.archives,
            rules=self.rules,
            portal_redirects=self.portal_redirects,
            use_portal_redirect=lambda: self.use_portal_redirect,
            workers=self.workers,
            marker=LinkMarker(DeadLink(), enabled=lambda: True, offline=lambda: True),
        )

    def noted(self):
        self.misses.flush()
        return self.misses.recent()


@pytest.fixture
def school(tmp_path):
    made = School(tmp_path)
    yield made
    made.threads.shutdown()
    made.collection.close()
    made.misses.close()


async def test_a_missing_page_is_answered_with_what_is_held_and_keeps_its_status(school):
    flow = a_flow(f"{SITE}/old-volcanoes", headers=BROWSER, response=GONE)
    await school.addon.response(flow)
    assert flow.response.status_code == 404
    assert flow.response.headers["linkmend-miss"] == "not_found"
    assert flow.response.headers["cache-status"] == "origin"
    assert f'data-url="{SITE}/earth/volcanoes"' in flow.response.get_text()
    assert state_of(flow).answered_by is AnsweredBy.REPAIR


async def test_the_miss_is_noted_with_the_page_it_came_from_and_what_was_offered(school):
    school.recent_pages.note_page(school.hasher.hash("127.0.0.1"), f"{SITE}/start")
    await school.addon.response(a_flow(f"{SITE}/old-volcanoes", headers=BROWSER, response=GONE))
    (record,) = school.noted()
    assert (record.url, record.kind) == (f"{SITE}/old-volcanoes", MissKind.NOT_FOUND)
    assert record.source_url == f"{SITE}/start"
    assert record.offered[0] == f"{SITE}/earth/volcanoes"
    assert record.status == 404
    assert "127.0.0.1" not in record.client


async def test_the_miss_is_noted_with_the_name_of_the_network_not_its_address(school):
    school.addon.network_names = parse_network_names("misses.networks", ["Room 12 = 127.0.0.0/8"])
    await school.addon.response(a_flow(f"{SITE}/old-volcanoes", headers=BROWSER, response=GONE))
    (record,) = school.noted()
    assert record.network == "Room 12"
    assert "127.0.0" not in repr(record)


async def test_when_what_archives_said_cannot_be_read_the_repair_page_goes_out_without_it(
    school, monkeypatch
):
    async def damaged(link, *, ask):
        raise CollectionError("malformed")

    monkeypatch.setattr(school.archives, "stored_findings", damaged)
    flow = a_flow(f"{SITE}/old-volcanoes", headers=BROWSER, response=GONE)
    await school.addon.response(flow)
    assert f'data-url="{SITE}/earth/volcanoes"' in flow.response.get_text()


NAVIGATION = [*BROWSER, ("Sec-Fetch-Dest", "document"), ("Sec-Fetch-Mode", "navigate")]


async def test_where_a_site_has_a_service_worker_the_repair_page_is_at_the_portal(school):
    school.addon.requestheaders(a_flow(f"{SITE}/worker.js", headers=[("Service-Worker", "script")]))
    flow = a_flow(f"{SITE}/old-volcanoes", headers=NAVIGATION, response=GONE)
    await school.addon.response(flow)
    assert flow.response.status_code == 303
    assert school.noted() == ()
    way = parse_qs(urlsplit(flow.response.headers["Location"]).query)["to"][0]
    url, seal = split_mark(way)
    missed = school.portal_redirects.open_seal(url, seal, school.hasher.hash(flow.client_conn.peername[0]))
    shown = await school.addon.show_missed(a_flow("http://linkmend.internal/", headers=BROWSER), url, missed)
    assert shown.status == 404
    assert f'data-url="{SITE}/earth/volcanoes"'.encode() in shown.body
    assert f'id="again" href="{SITE}/old-volcanoes"'.encode() in shown.body
    assert school.noted()[0].url == f"{SITE}/old-volcanoes"


async def test_where_there_is_no_portal_a_site_with_a_worker_answers_itself(school):
    school.workers.note(SITE)
    school.use_portal_redirect = False
    flow = a_flow(f"{SITE}/old-volcanoes", headers=NAVIGATION, response=GONE)
    await school.addon.response(flow)
    assert "alternatives" not in flow.response.get_text()


async def test_a_navigation_preload_gets_what_the_site_sent(school):
    for value in ("true", "x", ""):
        preload = [*NAVIGATION, ("Service-Worker-Navigation-Preload", value)]
        flow = a_flow(f"{SITE}/old-volcanoes", headers=preload, response=GONE)
        await school.addon.response(flow)
        assert "alternatives" not in flow.response.get_text()
        assert flow.response.status_code == 404


async def test_in_a_frame_no_click_is_told(school):
    framed = [*(each for each in BROWSER if each[0] != "Sec-Fetch-Dest"), ("Sec-Fetch-Dest", "iframe")]
    for headers, told in ((BROWSER, True), (framed, False)):
        flow = a_flow(f"{SITE}/old-volcanoes", headers=headers, response=GONE)
        await school.addon.response(flow)
        assert (" ping=" in flow.response.get_text()) is told


@pytest.mark.parametrize("name", ["volcanoes.pdf", "Volcanoes_eruptions.docx", "volcanoes.jpg"])
async def test_a_missing_file_that_a_person_opened_is_repaired_by_its_name(school, name):
    headers = [*BROWSER, ("Sec-Fetch-Dest", "document"), ("Sec-Fetch-Mode", "navigate")]
    flow = a_flow(f"{SITE}/files/{name}", headers=headers, response=GONE)
    await school.addon.response(flow)
    assert flow.response.status_code == 404
    assert f'data-url="{SITE}/earth/volcanoes"' in flow.response.text


async def test_a_machine_gets_json(school):
    flow = a_flow(f"{SITE}/old-volcanoes", headers=[("Accept", "application/json")], response=GONE)
    await school.addon.response(flow)
    assert json.loads(flow.response.raw_content)["alternatives"][0]["url"] == f"{SITE}/earth/volcanoes"


@pytest.mark.parametrize(
    ("headers", "response"),
    [
        ([("Accept", "image/*")], GONE),
        ([*BROWSER, ("Sec-Fetch-Dest", "image")], GONE),
        ([*BROWSER, ("Sec-Fetch-Dest", "embed")], GONE),
        ([("Accept", "text/html"), ("X-Requested-With", "XMLHttpRequest")], GONE),
        (BROWSER, (200, [("Content-Type", "text/html")], b"fine")),
        (BROWSER, (403, [("Content-Type", "text/html")], b"no")),
    ],
    ids=["image", "image of a page", "document in a page", "script", "fine", "forbidden"],
)
async def test_what_is_no_missed_page_is_left_as_it_was(school, headers, response):
    flow = a_flow(f"{SITE}/old-volcanoes", headers=headers, response=response)
    await school.addon.response(flow)
    assert flow.response.raw_content == response[2]
    assert school.noted() == ()


async def test_a_page_of_our_own_is_not_repaired_again(school):
    flow = a_flow(f"{SITE}/old-volcanoes", headers=BROWSER, response=GONE)
    state_of(flow).answered_by = AnsweredBy.PORTAL
    await school.addon.response(flow)
    assert flow.response.raw_content == GONE[2]


async def test_offline_a_page_of_which_a_copy_is_held_is_that_copy(school):
    copy = HeldCopy(url=f"{SITE}/kept", content_type="text/html", body=b"<p>kept words", fetched_at=A_MOMENT)
    school.collection.add(a_document("/kept"), fetched_at=A_MOMENT, copy=copy)
    flow = a_flow(f"{SITE}/kept", headers=BROWSER, response=(504, [], b""))
    state_of(flow).answered_by = AnsweredBy.OFFLINE
    await school.addon.response(flow)
    assert flow.response.status_code == 200
    assert b"kept words" in flow.response.raw_content


async def test_offline_a_plain_http_copy_is_shown_at_once_under_its_own_address_and_without_marks(school):
    html = b"<p>kept words <a href='/dead'>dead</a>"
    copy = HeldCopy(url=f"{SITE}/kept", content_type="text/html", body=html, fetched_at=A_MOMENT)
    school.collection.add(a_document("/kept"), fetched_at=A_MOMENT, copy=copy)
    school.use_portal_redirect = True
    plain = [*BROWSER, ("Accept-Encoding", "gzip"), ("Accept-Language", "en")]
    click = [("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "document")]
    for headers, marked in ((plain, False), ([*plain, *click], True)):
        flow = a_flow(f"{SITE}/kept", headers=headers, response=(504, [], b""))
        state_of(flow).answered_by = AnsweredBy.OFFLINE
        await school.addon.response(flow)
        assert flow.response.status_code == 200
        assert b"kept words" in flow.response.raw_content
        assert (b"data-linkmend" in flow.response.raw_content) is marked


async def test_when_the_search_takes_too_long_the_page_goes_out_without_it(school):
    school.addon.deadline_s = 0.0
    flow = a_flow(f"{SITE}/old-volcanoes", headers=BROWSER, response=GONE)
    await school.addon.response(flow)
    assert flow.response.headers["linkmend-miss"] == "not_found"
    assert "data-url" not in flow.response.get_text()


def test_a_failure_names_the_kind_and_a_stale_answer_is_none():
    flow = a_flow(response=(502, [], b""))
    state_of(flow).failure = failure_of("timed out")
    state_of(flow).answered_by = AnsweredBy.FAILURE
    assert miss_of(flow) is MissKind.TIMEOUT
    state_of(flow).answered_by = AnsweredBy.CACHE
    flow.response.status_code = 200
    assert miss_of(flow) is None


async def test_a_token_in_an_address_stays_out_of_the_miss_log(school):
    flow = a_flow(f"{SITE}/reset?token=SECRET", headers=BROWSER, response=GONE)
    await school.addon.response(flow)
    (record,) = school.noted()
    assert record.url == f"{SITE}/reset"
    assert "SECRET" not in str(record)


async def test_a_withheld_page_is_repaired_under_the_address_asked_for_and_can_be_seen_anyway(school):
    flow = a_flow(f"{SITE}/", headers=BROWSER, response=(200, [("Content-Type", "text/html")], b"start"))
    page = SuppressedPage(kind=MissKind.SOFT_404, missed=f"{SITE}/old-volcanoes", url=f"{SITE}/")
    state_of(flow).suppressed = page
    await school.addon.response(flow)
    (record,) = school.noted()
    assert (flow.response.status_code, flow.response.headers["linkmend-miss"]) == (200, "soft_404")
    assert record.url == f"{SITE}/old-volcanoes"
    assert f"anyway?miss={record.id}" in flow.response.get_text()
    assert school.suppressed.of(record.id, record.client) == page


def rules(school, text):
    school.live.folder.mkdir(exist_ok=True)
    (school.live.folder / "10.toml").write_text(text, encoding="utf-8")
    assert school.live.reload(), school.live.fault


async def missed(school, headers=BROWSER, url=f"{SITE}/old-volcanoes"):
    flow = a_flow(url, headers=headers, response=GONE)
    school.rules.requestheaders(flow)
    await school.addon.response(flow)
    return flow


async def test_a_rule_may_leave_an_error_as_it_came(school):
    rules(school, '[[rule]]\nmiss = ["not_found"]\naction = "pass"\n')
    flow = await missed(school)
    assert flow.response.get_text() == "<h1>not here</h1>"
    assert not school.noted()


async def test_the_miss_log_says_which_rule_had_its_say(school):
    rules(school, '[[rule]]\nname = "homework"\naction = "repair"\narchive = "off"\n')
    await missed(school)
    assert school.noted()[0].rule == "homework"


async def test_a_rule_may_lead_straight_to_the_best_page_and_shows_the_list_to_who_comes_back(school):
    rules(school, "[[rule]]\nauto_follow = 0.0\n")
    flow = await missed(school)
    assert (flow.response.status_code, flow.response.headers["location"]) == (302, f"{SITE}/earth/volcanoes")
    assert flow.response.headers["linkmend-miss"] == "not_found"
    assert flow.response.headers["cache-control"] == "no-store"
    again = await missed(school)
    assert again.response.status_code == 404
    assert f'data-url="{SITE}/earth/volcanoes"' in again.response.get_text()


async def test_nobody_is_led_to_a_page_that_is_not_sure_enough(school):
    rules(school, "[[rule]]\nauto_follow = 1.0\n")
    assert (await missed(school)).response.status_code == 404


async def test_a_program_that_asks_for_json_is_led_nowhere(school):
    rules(school, "[[rule]]\nauto_follow = 0.0\n")
    flow = await missed(school, headers=[("Accept", "application/json")])
    assert flow.response.status_code == 404
    assert json.loads(flow.response.get_text())["alternatives"]


async def test_a_rule_may_keep_archives_out_of_it(school):
    assert "archive" in (await missed(school)).response.get_text()
    rules(school, '[[rule]]\narchive = "off"\n')
    flow = await missed(school, headers=[("Accept", "application/json")])
    assert json.loads(flow.response.get_text())["mementos"] == {}


UNTOLD = [("Accept", "text/html"), ("Accept-Encoding", "gzip"), ("Accept-Language", "en")]


async def sent_round(school, **about):
    """The way a browser is sent that does not say whether a person asks."""
    flow = a_flow(f"{SITE}/old-volcanoes", **{"headers": UNTOLD, "response": GONE, **about})
    await school.addon.response(flow)
    assert flow.response.status_code == 303
    assert flow.response.content == b""
    return parse_qs(urlsplit(flow.response.headers["location"]).query)["to"][0]


async def come_back(school, address, **about):
    flow = a_flow(address, **{"headers": UNTOLD, **about})
    PortalRedirectMark(school.portal_redirects, school.hasher).requestheaders(flow)
    PortalReturn().request(flow)
    if flow.response is not None:
        await school.addon.response(flow)
    return flow


async def test_who_may_be_a_script_is_shown_nothing_before_the_way_round_by_the_portal(school):
    address = await sent_round(school)
    assert school.noted() == ()
    flow = await come_back(school, address)
    assert flow.request.url == f"{SITE}/old-volcanoes"
    assert flow.response.status_code == 404
    assert flow.response.headers["linkmend-miss"] == "not_found"
    assert flow.response.headers["cache-status"] == "origin"
    assert b"earth/volcanoes" in flow.response.content
    assert [record.url for record in school.noted()] == [f"{SITE}/old-volcanoes"]


async def test_where_browsers_cannot_reach_the_portal_they_are_answered_in_place(school):
    school.use_portal_redirect = False
    flow = a_flow(f"{SITE}/old-volcanoes", headers=UNTOLD, response=GONE)
    await school.addon.response(flow)
    assert flow.response.status_code == 404
    assert b"earth/volcanoes" in flow.response.content


async def test_the_page_that_a_link_was_on_is_not_forgotten_on_the_way_round(school):
    address = await sent_round(school, headers=[*UNTOLD, ("Referer", f"{SITE}/start")])
    await come_back(school, address)
    assert school.noted()[0].source_url == f"{SITE}/start"


async def test_who_comes_back_with_a_seal_of_their_own_making_is_not_sent_again(school):
    flow = await come_back(school, f"{SITE}/old-volcanoes?linkmend-way=e30.e30")
    assert flow.request.url == f"{SITE}/old-volcanoes"
    assert flow.response is None
    flow.response = a_flow(response=GONE).response
    await school.addon.response(flow)
    assert flow.response.content == b"<h1>not here</h1>"


async def test_where_no_repair_page_can_be_made_who_came_back_has_words_under_the_sites_own_type(school):
    address = await sent_round(school, response=(404, [("Content-Type", "text/html")], b"gone"))
    flow = a_flow(address, headers=UNTOLD)
    PortalRedirectMark(school.portal_redirects, school.hasher).requestheaders(flow)
    PortalReturn().request(flow)
    assert flow.response.headers["content-type"] == "text/html"
    assert flow.response.content == b"404: page not found, and no repair page available\n"


async def test_a_script_that_says_where_it_is_from_gains_nothing_by_the_way_round(school):
    flow = await come_back(school, await sent_round(school), headers=[*UNTOLD, ("Origin", "http://a.test")])
    assert flow.response is None


async def test_a_withheld_page_can_be_seen_anyway_after_the_way_round(school):
    flow = a_flow(f"{SITE}/home", headers=UNTOLD, response=(200, [("Content-Type", "text/html")], b"home"))
    page = SuppressedPage(kind=MissKind.SOFT_404, missed=f"{SITE}/asked", url=f"{SITE}/home", sketch=(1, 2))
    state_of(flow).suppressed = page
    await school.addon.response(flow)
    back = await come_back(school, parse_qs(urlsplit(flow.response.headers["location"]).query)["to"][0])
    record = school.noted()[0]
    assert record.url == f"{SITE}/asked"
    assert school.suppressed.of(record.id, record.client) == page
    assert f"anyway?miss={record.id}".encode() in back.response.content


async def test_the_error_page_of_a_site_can_be_seen_by_the_user_whose_page_it_was(school):
    await school.addon.response(a_flow(f"{SITE}/old-volcanoes", headers=BROWSER, response=GONE))
    (record,) = school.noted()
    page = school.suppressed.of(record.id, record.client)
    assert (page.kind, page.url) == (MissKind.NOT_FOUND, f"{SITE}/old-volcanoes")
    assert school.suppressed.of(record.id, "somebody else") is None
    school.suppressed.give_leave(record.client, page.url)
    own = a_flow(f"{SITE}/old-volcanoes", headers=BROWSER, response=GONE)
    await school.addon.response(own)
    assert own.response.content == b"<h1>not here</h1>"
    other = a_flow(f"{SITE}/other", headers=BROWSER, response=GONE)
    await school.addon.response(other)
    assert b"not here" not in other.response.content


async def test_both_buttons_are_there_for_an_error_page_and_one_for_our_own_verdict(school):
    flow = a_flow(f"{SITE}/old-volcanoes", headers=BROWSER, response=GONE)
    await school.addon.response(flow)
    assert "Show the site’s own page" in flow.response.get_text()
    assert "Try again" in flow.response.get_text()


@pytest.mark.parametrize("answer", [(404, [("Content-Type", "text/html")], b""), None], ids=["empty", "none"])
async def test_without_a_page_of_the_site_there_is_nothing_to_show(school, answer):
    flow = a_flow(f"{SITE}/old-volcanoes", headers=BROWSER, response=answer or (502, [], b"refused"))
    if answer is None:
        state_of(flow).failure = failure_of("[Errno 111]")
        state_of(flow).answered_by = AnsweredBy.FAILURE
    await school.addon.response(flow)
    assert "linkmend-miss" in flow.response.headers
    assert "anyway?miss=" not in flow.response.get_text()


BUSY = (503, [("Content-Type", "text/html"), ("Retry-After", "20")], b"busy")


async def test_a_site_that_says_when_to_come_back_is_tried_again_a_few_times(school):
    waits = []
    for _ in range(7):
        flow = a_flow(f"{SITE}/busy", headers=BROWSER, response=BUSY)
        await school.addon.response(flow)
        waits += re.findall(r'data-seconds="(\d+)"', flow.response.get_text()) or [None]
    assert all(20 <= int(wait) <= 24 for wait in waits[:5])
    assert waits[5:] == [None, None]


@pytest.mark.parametrize(
    ("status", "retry_after", "headers"),
    [
        (404, "20", BROWSER),
        (503, "86400", BROWSER),
        (503, "soon", BROWSER),
        (503, "20", [*BROWSER, ("Sec-Fetch-Dest", "iframe"), ("Sec-Fetch-Mode", "navigate")]),
    ],
    ids=["no server error", "too long", "no time", "a frame"],
)
async def test_otherwise_the_user_decides_when_to_try_again(school, status, retry_after, headers):
    answer = (status, [("Content-Type", "text/html"), ("Retry-After", retry_after)], b"busy")
    flow = a_flow(f"{SITE}/busy", headers=headers, response=answer)
    await school.addon.response(flow)
    assert "linkmend-miss" in flow.response.headers
    assert "data-seconds" not in flow.response.get_text()
