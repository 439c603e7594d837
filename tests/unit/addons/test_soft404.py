"""addons.soft404: which answers are judged, and what is done about them."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from addons.flowstate import AnsweredBy, state_of
from addons.soft404 import Soft404, is_worth_keeping
from proxy.privacy.clients import ClientHasher
from proxy.privacy.suppressed import SuppressedPage, SuppressedPages
from repair.model import MissKind
from repair.settings import Soft404Settings
from repair.soft404.detector import Soft404Detector
from repair.soft404.redirects import RecentRedirects
from repair.soft404.sitestore import SiteStore
from tests.make import a_flow

SITE = "http://school.test"
BROWSER = [("Accept", "text/html"), ("Host", "school.test")]
HTML = [("Content-Type", "text/html")]
ERROR = b"<title>404</title><h1>Page not found</h1><p>Sorry, the page you are looking for does not exist here.</p>"
LESSON = b"<title>Lava</title><h1>Lava</h1><p>" + b"Lava and ash come out of the Earth. " * 30


class School:
    def __init__(self, folder):
        self.threads = ThreadPoolExecutor(1)
        self.sites = SiteStore(folder / "sites.sqlite")
        self.suppressed = SuppressedPages()
        self.addon = Soft404(
            Soft404Settings(),
            Soft404Detector(self.sites, self.threads),
            hasher=ClientHasher(),
            suppressed=self.suppressed,
            redirects=RecentRedirects(),
            offline=lambda: False,
        )

    async def answered(self, path="/lessons/gone", response=(200, HTML, ERROR), headers=BROWSER, **about):
        flow = a_flow(SITE + path, headers=headers, response=response, **about)
        await self.addon.response(flow)
        return flow


@pytest.fixture
def school(tmp_path):
    made = School(tmp_path)
    yield made
    made.threads.shutdown()
    made.sites.close()


async def test_an_error_page_is_withheld_and_not_worth_keeping(school):
    flow = await school.answered()
    assert state_of(flow).suppressed.kind is MissKind.SOFT_404
    assert state_of(flow).suppressed.url == SITE + "/lessons/gone"
    assert not is_worth_keeping(flow)


async def test_a_page_that_is_there_is_judged_and_left_alone(school):
    flow = await school.answered(response=(200, HTML, LESSON))
    assert state_of(flow).finding is not None
    assert state_of(flow).suppressed is None
    assert is_worth_keeping(flow)


async def test_a_login_is_shown_but_not_kept(school):
    body = b"<title>Sign in</title><form><input type=password></form>"
    flow = await school.answered(response=(200, HTML, body))
    assert state_of(flow).suppressed is None
    assert not is_worth_keeping(flow)


@pytest.mark.parametrize(
    ("headers", "response", "method"),
    [
        ([("Accept", "image/*"), ("Host", "school.test")], (200, HTML, ERROR), "GET"),
        (BROWSER, (200, [("Content-Type", "image/png")], ERROR), "GET"),
        (BROWSER, (200, HTML, ERROR), "HEAD"),
        (BROWSER, (200, HTML, ERROR), "POST"),
        (BROWSER, (206, HTML, ERROR), "GET"),
        ([("Accept", "text/html"), ("Host", "other.test")], (200, HTML, ERROR), "GET"),
    ],
    ids=["image wanted", "image", "head", "post", "part", "forged host"],
)
async def test_what_no_person_reads_is_not_judged(school, headers, response, method):
    flow = await school.answered(headers=headers, response=response, method=method)
    assert state_of(flow).finding is None


async def test_answers_of_our_own_and_bodies_that_have_gone_by_are_not_judged(school):
    flow = a_flow(SITE + "/a/b", headers=BROWSER, response=(200, HTML, ERROR))
    state_of(flow).answered_by = AnsweredBy.PORTAL
    await school.addon.response(flow)
    assert state_of(flow).finding is None
    flow = a_flow(SITE + "/a/b", headers=BROWSER, response=(200, HTML, ERROR))
    flow.response.stream = True
    await school.addon.response(flow)
    assert state_of(flow).finding is None


async def test_switched_off_it_judges_nothing(school):
    school.addon.settings = Soft404Settings(enabled=False)
    assert state_of(await school.answered()).finding is None


async def test_a_redirect_is_remembered_until_the_page_it_leads_to(school):
    await school.answered("/lessons/rivers-and-lakes", (302, [("Location", "/")], b""))
    flow = await school.answered("/", (200, HTML, LESSON))
    assert state_of(flow).suppressed.missed == SITE + "/lessons/rivers-and-lakes"
    assert state_of(await school.answered("/", (200, HTML, LESSON))).suppressed is None


async def test_the_page_of_an_honest_404_is_known_when_it_comes_with_a_200(school):
    odd = (
        b"<title>Hm</title><p>The dog of the caretaker ate this sheet of paper on a rainy day last year.</p>"
    )
    assert state_of(await school.answered("/a/b", (200, HTML, odd))).suppressed is None
    await school.answered("/a/c", (404, HTML, odd))
    assert state_of(await school.answered("/a/d", (200, HTML, odd))).suppressed.kind is MissKind.SOFT_404


async def test_showing_it_anyway_teaches_and_is_for_that_reader_only(school):
    flow = await school.answered()
    school.suppressed.note("id", "ann", state_of(flow).suppressed)
    assert await school.addon.show_anyway("id", "bob") is None
    assert await school.addon.show_anyway("other", "ann") is None
    assert await school.addon.show_anyway("id", "ann") == SITE + "/lessons/gone"
    assert state_of(await school.answered()).suppressed is None


async def test_the_error_page_of_a_site_is_shown_once_more_and_teaches_nothing(school):
    url = SITE + "/lessons/gone"
    school.suppressed.note("id", "ann", SuppressedPage(kind=MissKind.NOT_FOUND, missed=url, url=url))
    assert await school.addon.show_anyway("id", "bob") is None
    assert not school.suppressed.has_leave("bob", url)
    assert await school.addon.show_anyway("id", "ann") == url
    assert school.suppressed.has_leave("ann", url)
    assert not school.suppressed.has_leave("ann", SITE + "/other")
