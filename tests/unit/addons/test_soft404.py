"""addons.soft404: which answers are judged, and what is done about them."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from addons.flows import OURS
from addons.soft404 import FINDING, Soft404, is_worth_keeping, withheld_of
from proxy.readers.clients import ClientHasher
from proxy.readers.withheld import WithheldPages
from repair.model import MissKind
from repair.settings import Soft404Settings
from repair.soft404.detector import Detector
from repair.soft404.redirects import RecentRedirects
from repair.soft404.sites import Sites
from tests.make import a_flow

SITE = "http://school.test"
BROWSER = [("Accept", "text/html"), ("Host", "school.test")]
HTML = [("Content-Type", "text/html")]
ERROR = b"<title>404</title><h1>Page not found</h1><p>Sorry, the page you are looking for does not exist here.</p>"
LESSON = b"<title>Lava</title><h1>Lava</h1><p>" + b"Lava and ash come out of the Earth. " * 30


class School:
    def __init__(self, folder):
        self.threads = ThreadPoolExecutor(1)
        self.sites = Sites(folder / "sites.sqlite")
        self.withheld = WithheldPages()
        self.addon = Soft404(
            Soft404Settings(),
            Detector(self.sites, self.threads),
            hasher=ClientHasher(),
            withheld=self.withheld,
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
    assert withheld_of(flow).kind is MissKind.SOFT_404
    assert withheld_of(flow).url == SITE + "/lessons/gone"
    assert not is_worth_keeping(flow)


async def test_a_page_that_is_there_is_judged_and_left_alone(school):
    flow = await school.answered(response=(200, HTML, LESSON))
    assert FINDING in flow.metadata
    assert withheld_of(flow) is None
    assert is_worth_keeping(flow)


async def test_a_login_is_shown_but_not_kept(school):
    body = b"<title>Sign in</title><form><input type=password></form>"
    flow = await school.answered(response=(200, HTML, body))
    assert withheld_of(flow) is None
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
    assert FINDING not in flow.metadata


async def test_answers_of_our_own_and_bodies_that_have_gone_by_are_not_judged(school):
    flow = a_flow(SITE + "/a/b", headers=BROWSER, response=(200, HTML, ERROR))
    flow.metadata[OURS] = "helper"
    await school.addon.response(flow)
    assert FINDING not in flow.metadata
    flow = a_flow(SITE + "/a/b", headers=BROWSER, response=(200, HTML, ERROR))
    flow.response.stream = True
    await school.addon.response(flow)
    assert FINDING not in flow.metadata


async def test_switched_off_it_judges_nothing(school):
    school.addon.settings = Soft404Settings(enabled=False)
    assert FINDING not in (await school.answered()).metadata


async def test_a_redirect_is_remembered_until_the_page_it_leads_to(school):
    await school.answered("/lessons/rivers-and-lakes", (302, [("Location", "/")], b""))
    flow = await school.answered("/", (200, HTML, LESSON))
    assert withheld_of(flow).missed == SITE + "/lessons/rivers-and-lakes"
    assert withheld_of(await school.answered("/", (200, HTML, LESSON))) is None


async def test_the_page_of_an_honest_404_is_known_when_it_comes_with_a_200(school):
    odd = (
        b"<title>Hm</title><p>The dog of the caretaker ate this sheet of paper on a rainy day last year.</p>"
    )
    assert withheld_of(await school.answered("/a/b", (200, HTML, odd))) is None
    await school.answered("/a/c", (404, HTML, odd))
    assert withheld_of(await school.answered("/a/d", (200, HTML, odd))).kind is MissKind.SOFT_404


async def test_showing_it_anyway_teaches_and_is_for_that_reader_only(school):
    flow = await school.answered()
    school.withheld.note("id", "ann", withheld_of(flow))
    assert await school.addon.show_anyway("id", "bob") is None
    assert await school.addon.show_anyway("other", "ann") is None
    assert await school.addon.show_anyway("id", "ann") == SITE + "/lessons/gone"
    assert withheld_of(await school.answered()) is None
