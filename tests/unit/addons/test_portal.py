"""addons.portal: what linkmend itself is asked, answered without any site."""

import plistlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from cryptography import x509

from addons.flowstate import AnsweredBy, state_of
from addons.portal import Portal
from proxy.archives.ownarchive import OwnArchive
from proxy.misses.store import MissStore
from proxy.monitoring.metrics import Metrics
from proxy.pages.otherpages import redirect
from proxy.pages.render import text_page
from proxy.pages.startpage import portal_info_of
from proxy.portal.browsing import PortalBrowser
from proxy.portal.linkjudging import LinkMark
from proxy.portal.linkmarking import LinkMarker
from proxy.privacy.clients import ClientHasher
from proxy.privacy.portalredirect import PortalRedirects
from proxy.settings import MissesSettings, Settings
from repair.collection.asynccollection import AsyncCollection
from repair.collection.listing import PageListing
from repair.collection.pagesearch import FilteredSearch
from repair.crawling.topicdatabase import TopicDatabase
from repair.crawling.topicguide import TopicGuide
from repair.crawling.topics import Topic
from repair.crawling.topicstore import TopicStore
from repair.model import HeldCopy
from tests.archiving import archives_of
from tests.holdings import SITE, a_collection, a_document
from tests.integration.origin import certificate
from tests.make import A_MOMENT, a_flow


@pytest.fixture
def helper(tmp_path):
    pem, _ = certificate(tmp_path, "linkmend.test")
    threads = ThreadPoolExecutor(2)
    collection = a_collection(
        tmp_path / "collection", a_document("/read", title="Volcanoes", text="Lava. " * 40)
    )
    copy = HeldCopy(
        url=f"{SITE}/kept",
        content_type="text/html",
        body=b"<p>kept words <a href='/dead'>dead</a>",
        fetched_at=A_MOMENT,
    )
    collection.add(a_document("/kept"), fetched_at=A_MOMENT, copy=copy)
    misses = MissStore(tmp_path / "misses", MissesSettings())
    reader = AsyncCollection(collection, threads)
    listing = PageListing(collection.database)
    guide = TopicGuide(tmp_path / "topics", collection, listing)
    yield Portal(
        PortalBrowser(listing, guide, FilteredSearch(collection, listing, guide.urls_of), threads),
        LinkMarker(DeadLink(), enabled=lambda: True, offline=lambda: False),
        reader,
        misses,
        own_archive=OwnArchive(reader, lambda: "local"),
        ca=pem,
        metrics=Metrics(),
        portal_info=lambda: portal_info_of(Settings(), frozenset({".bank.test"})),
        deadline_s=5.0,
        portal=lambda: True,
        hasher=ClientHasher(),
        show_anyway=shown_to_nobody_but_the_first,
        archives=archives_of(tmp_path, collection, threads),
        portal_redirects=PortalRedirects(),
        show_missed=shown_in_vain,
        suggestions=HeardOnce(),
        repairs=OneLatePage(),
    )
    threads.shutdown()
    collection.close()
    misses.close()


class HeardOnce:
    """Keeps one suggestion, as the backend would for a miss of this client."""

    def __init__(self):
        self.heard = []

    async def suggest(self, miss_id, words, *, client):
        self.heard.append((miss_id, words))
        return len(self.heard) == 1


class OneLatePage:
    """Adds to the page of one reader's miss."""

    async def late_offers(self, call, language, client):
        return text_page(200, "added") if call.miss_id == "a" * 16 else None


class DeadLink:
    """Knows that /dead leads nowhere."""

    async def marks(self, source_url, offline):
        return (LinkMark(target=f"{SITE}/dead"),)


async def shown_to_nobody_but_the_first(miss_id, client):
    return "http://school.test/withheld" if miss_id == "a" * 16 else None


async def shown_in_vain(flow, url, missed):
    return redirect(url)


async def ask(helper, url, body=b"", **about):
    flow = a_flow(url, **about)
    flow.request.content = body
    await helper.request(flow)
    return flow


async def test_the_portal_says_how_much_is_held(helper):
    flow = await ask(helper, "http://linkmend.internal/")
    assert flow.response.status_code == 200
    assert state_of(flow).answered_by is AnsweredBy.PORTAL
    assert ">2<" in flow.response.get_text() or "2" in flow.response.get_text()


async def test_a_search_that_takes_too_long_is_one_line_in_the_log_without_its_words(helper, caplog):
    helper.deadline_s = 0.0
    flow = await ask(helper, "http://linkmend.internal/search?q=volcanoes")
    assert flow.response.status_code == 503
    assert caplog.messages == ["portal: timed out after 0.0 s: /search"]
    assert caplog.records[0].exc_info is None


async def test_a_search_at_the_portal_finds_held_pages(helper):
    flow = await ask(helper, "http://linkmend.internal/search?q=volcanoes")
    assert f"{SITE}/read" in flow.response.get_text()


async def test_only_a_search_that_finds_nothing_is_noted(helper):
    for words in ("volcanoes", "coral%20reefs"):
        await ask(helper, f"http://linkmend.internal/search?q={words}")
    helper._misses.flush()
    assert [row["words"] for row in helper._misses.read("SELECT words FROM searches", ())] == ["coral reefs"]


async def test_topics_are_browsed_and_counted(helper, tmp_path):
    with closing(TopicDatabase(tmp_path / "topics")) as database:
        TopicStore(database).put(Topic(name="Volcanoes"))
    start = await ask(helper, "http://linkmend.internal/")
    assert "/.well-known/linkmend/topic?name=Volcanoes" in start.response.text
    topic = await ask(helper, "http://linkmend.internal/topic?name=Volcanoes")
    assert f"{SITE}/read" in topic.response.text
    assert (await ask(helper, "http://linkmend.internal/topic?name=Rivers")).response.status_code == 404
    assert (await ask(helper, "http://linkmend.internal/browse?list=newest")).response.status_code == 200
    assert helper._metrics.portal_pages == {"start": 1, "topic": 2, "list": 1}


async def test_device_steps_are_folded_away_where_the_device_is_known_to_trust_us(helper):
    unknown = await ask(helper, "http://linkmend.internal/")
    secure = await ask(helper, "https://linkmend.internal/")
    helper._metrics.trust.note_trust(helper._hasher.hash(unknown.client_conn.peername[0]))
    known = await ask(helper, "http://linkmend.internal/")
    assert ['<details id="device" open>' in flow.response.text for flow in (unknown, secure, known)] == [
        *(True, False, False)
    ]


async def test_a_kept_copy_is_shown_and_a_page_without_one_is_read(helper):
    assert "kept words" in (await ask(helper, f"http://linkmend.internal/copy?url={SITE}/kept")).response.text
    assert "Lava" in (await ask(helper, f"http://linkmend.internal/copy?url={SITE}/read")).response.text
    marked = await ask(helper, f"http://linkmend.internal/copy?url={SITE}/kept")
    assert 'data-linkmend="nowhere"' in marked.response.text
    missing = await ask(helper, f"http://linkmend.internal/copy?url={SITE}/never")
    assert missing.response.status_code == 404


async def test_the_certificate_is_served_for_every_device_and_its_key_for_none(helper):
    pem = (await ask(helper, "http://linkmend.internal/ca.pem")).response.raw_content
    der = (await ask(helper, "http://linkmend.internal/ca.cer")).response.raw_content
    profile = (await ask(helper, "http://linkmend.internal/ca.mobileconfig")).response.raw_content
    assert b"PRIVATE" not in pem
    assert x509.load_pem_x509_certificate(pem) == x509.load_der_x509_certificate(der)
    assert plistlib.loads(profile)["PayloadContent"][0]["PayloadContent"] == der


async def test_the_start_page_is_for_the_visitor_who_asks(helper):
    flow = a_flow("http://linkmend.internal/", headers=[("User-Agent", "Mozilla/5.0 (X11; CrOS x86_64)")])
    flow.client_conn.sockname = ("::ffff:10.0.0.5", 8080)
    await helper.request(flow)
    assert '<h3 class="device">Chromebook</h3>' in flow.response.text
    assert "http://10.0.0.5:8080/proxy.pac" in flow.response.text


async def test_the_proxy_settings_name_the_address_that_was_asked(helper):
    flow = a_flow("http://10.0.0.5:8080/wpad.dat")
    flow.client_conn.sockname = ("10.0.0.5", 8080)
    await helper.request(flow)
    assert flow.response.headers["content-type"] == "application/x-ns-proxy-autoconfig"
    assert '"PROXY 10.0.0.5:8080"' in flow.response.text


async def test_the_privacy_page_and_the_proof_of_trust_are_there(helper):
    assert "bank.test" in (await ask(helper, "http://linkmend.internal/privacy")).response.text
    picture = await ask(helper, "https://linkmend.internal/trusted.svg")
    assert picture.response.headers["content-type"] == "image/svg+xml"
    assert "trusts the certificate" in (await ask(helper, "https://linkmend.internal/trusted")).response.text
    assert (await ask(helper, "http://linkmend.internal/trusted")).response.status_code == 303


async def test_a_request_to_a_site_is_not_ours(helper):
    assert (await ask(helper, f"{SITE}/page")).response is None


async def test_an_unknown_helper_path_is_refused_and_never_reaches_the_site(helper):
    flow = await ask(helper, f"{SITE}/.well-known/linkmend/secrets")
    assert flow.response.status_code == 404


async def test_a_withheld_page_is_shown_to_whoever_may_see_it(helper):
    flow = await ask(helper, f"http://school.test/.well-known/linkmend/anyway?miss={'a' * 16}")
    assert flow.response.status_code == 303
    assert flow.response.headers["location"] == "http://school.test/withheld"
    flow = await ask(helper, f"http://school.test/.well-known/linkmend/anyway?miss={'b' * 16}")
    assert flow.response.status_code == 404


KEPT = f"{SITE}/kept"


async def test_the_portal_is_a_web_archive_of_what_is_held(helper):
    flow = await ask(helper, f"http://linkmend.internal/timemap/link/{KEPT}")
    assert flow.response.status_code == 200
    assert flow.response.headers["content-type"] == "application/link-format"
    assert f'/{KEPT}>; rel="first last memento"' in flow.response.text
    gate = await ask(helper, f"http://linkmend.internal/timegate/{KEPT}")
    shown = await ask(helper, gate.response.headers["location"])
    assert "kept words" in shown.response.text
    assert shown.response.headers["memento-datetime"].endswith(" GMT")
    wrong = await ask(
        helper, f"http://linkmend.internal/timegate/{KEPT}", headers=[("Accept-Datetime", "soon")]
    )
    assert wrong.response.status_code == 400


async def test_the_archive_is_read_at_our_own_address_and_under_no_name_for_it(helper):
    def reached(host):
        flow = a_flow(f"http://{host}:8080/timemap/link/{KEPT}")
        flow.client_conn.sockname = ("10.0.0.5", 8080)
        return flow

    ours, foreign = reached("10.0.0.5"), reached("rebound.test")
    await helper.request(ours)
    await helper.request(foreign)
    assert f"<http://10.0.0.5:8080/timegate/{KEPT}>" in ours.response.text
    assert foreign.response is None


SUGGEST = "https://school.test/.well-known/linkmend/suggest"


async def test_what_a_user_looked_for_is_passed_on_and_never_to_the_site(helper):
    form = f"miss={'m' * 22}&words=bees+%26+%3Cb%3Ehoney".encode()
    flow = await ask(helper, SUGGEST, method="POST", body=form)
    assert (flow.response.status_code, "Thank you" in flow.response.get_text()) == (200, True)
    assert helper._suggestions.heard == [("m" * 22, "bees & <b>honey")]
    again = await ask(helper, SUGGEST, method="POST", body=form)
    assert again.response.status_code == 429


@pytest.mark.parametrize("body", [b"", b"words=x", b"miss=short&words=x", b"\xff", b"miss=" + b"m" * 9_000])
async def test_other_forms_are_refused(helper, body):
    flow = await ask(helper, SUGGEST, method="POST", body=body)
    assert flow.response.status_code == 400
    assert helper._suggestions.heard == []


async def test_suggestions_come_from_forms_of_people_only(helper):
    body = f"miss={'m' * 22}&words=x".encode()
    assert (await ask(helper, SUGGEST)).response.status_code == 405
    script = [("Sec-Fetch-Mode", "cors"), ("Sec-Fetch-Dest", "empty")]
    flow = await ask(helper, SUGGEST, method="POST", body=body, headers=script)
    assert flow.response.status_code == 403
    assert helper._suggestions.heard == []


async def test_what_came_late_is_shown_to_the_script_of_its_page_only(helper):
    path = "http://site.test/.well-known/linkmend/late?part=1&miss="
    mine = await ask(helper, path + "a" * 16, headers=[("Origin", "null")])
    assert mine.response.content == b"added"
    others = await ask(helper, path + "b" * 16, headers=[("Origin", "null")])
    by_a_site = await ask(helper, path + "a" * 16, headers=[("Origin", "http://site.test")])
    assert (others.response.status_code, by_a_site.response.status_code) == (404, 403)
