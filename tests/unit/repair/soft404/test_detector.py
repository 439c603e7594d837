"""repair.soft404.detector: all checks of a page, the cheap ones first."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from proxy.store.invalidation import SharedInvalidation
from repair.errors import CollectionError
from repair.model import MissKind
from repair.soft404.detector import Soft404Detector
from repair.soft404.judge import PageKind
from repair.soft404.sitestore import SiteStore
from tests.make import a_page

SITE = "http://school.test"
VAGUE = (
    b"<title>Riverbend School</title><main><h1>Oops!</h1><p>The caretaker says it is missing, and he has looked in "
    b"every cupboard of the house.</p><p>Go home and have a cup of tea.</p></main>"
)
ERROR = b"<title>404</title><h1>Page not found</h1><p>Sorry, the page you are looking for does not exist here.</p>"
LESSON = b"<title>Lava</title><h1>Lava</h1><p>" + b"Lava and ash come out of the Earth. " * 30

ESSAY = b"".join(
    b"<p>Of river number %d we know the name and the length, and no more." % number for number in range(300)
)


class Site:
    """Answers probes with one page; `gate` delays the answer until it is set."""

    def __init__(self, answer):
        self.answer = answer
        self.asked = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def ask(self, url):
        self.asked.append(url)
        await self.gate.wait()
        return self.answer


@pytest.fixture
def made(tmp_path):
    threads = ThreadPoolExecutor(2)
    sites = SiteStore(tmp_path / "sites.sqlite")
    yield lambda site=None, **about: Soft404Detector(sites, threads, ask=site.ask if site else None, **about)
    threads.shutdown()
    sites.close()


async def test_a_page_that_says_it_is_missing_needs_no_probe(made):
    site = Site(a_page(body=LESSON))
    found = await made(site).find(a_page(body=ERROR), budget_s=5.0)
    assert (found.miss, found.why) == (MissKind.SOFT_404, "content")
    assert site.asked == []


async def test_in_doubt_the_site_is_probed_and_its_error_page_stored(made):
    site = Site(a_page(body=VAGUE))
    detector = made(site)
    first = await detector.find(a_page(url=f"{SITE}/a/b.html", body=VAGUE), budget_s=5.0)
    assert (first.miss, first.why) == (MissKind.SOFT_404, "probe")
    second = await detector.find(a_page(url=f"{SITE}/other/c.html", body=VAGUE), budget_s=5.0)
    assert (second.miss, second.why) == (MissKind.SOFT_404, "memory")
    assert len(site.asked) == 1


async def test_a_directory_is_probed_only_once(made):
    site = Site(a_page(status=404))
    detector = made(site)
    for name in "abc":
        assert (await detector.find(a_page(url=f"{SITE}/a/{name}", body=VAGUE), budget_s=5.0)).miss is None
    assert len(site.asked) == 1


@pytest.mark.parametrize("url", [f"{SITE}/", SITE])
async def test_start_pages_are_never_probed(made, url):
    site = Site(a_page(body=VAGUE))
    assert (await made(site).find(a_page(url=url, body=VAGUE), budget_s=5.0)).miss is None
    assert site.asked == []


async def test_no_probe_is_sent_where_it_is_forbidden(made):
    site = Site(a_page(body=VAGUE))
    detector = made(site, may_probe=lambda url: False)
    assert (await detector.find(a_page(url=f"{SITE}/a/b", body=VAGUE), budget_s=5.0)).miss is None
    assert site.asked == []


async def test_a_late_probe_lets_the_page_through_and_counts_for_the_next(made):
    site = Site(a_page(body=VAGUE))
    site.gate.clear()
    detector = made(site)
    assert (await detector.find(a_page(url=f"{SITE}/a/b", body=VAGUE), budget_s=0.01)).miss is None
    site.gate.set()
    await asyncio.gather(*detector._probes)
    assert (await detector.find(a_page(url=f"{SITE}/a/c", body=VAGUE))).why == "memory"


async def test_the_text_of_a_404_is_recognised_with_a_200(made):
    detector = made()
    await detector.learn_error_page(a_page(url=f"{SITE}/x", status=404, body=VAGUE))
    assert (await detector.find(a_page(url=f"{SITE}/a/b", body=VAGUE))).why == "memory"
    assert (await detector.find(a_page(url=f"{SITE}/", body=VAGUE))).miss is None


async def test_a_long_page_is_shown_even_if_its_text_came_with_a_404_before(made):
    detector = made()
    await detector.learn_error_page(a_page(url=f"{SITE}/x", status=404, body=ESSAY))
    assert (await detector.find(a_page(url=f"{SITE}/a/b", body=ESSAY))).miss is None


async def test_the_error_page_of_one_site_does_not_count_for_another(made):
    detector = made()
    await detector.learn_error_page(a_page(url=f"{SITE}/x", status=404, body=VAGUE))
    assert (await detector.find(a_page(url="http://other.test/a/b", body=VAGUE))).miss is None


async def test_a_repeated_page_is_not_parsed_again(made, monkeypatch):
    detector, page = made(), a_page(url=f"{SITE}/a/b", body=LESSON)
    await detector.learn_error_page(a_page(url=f"{SITE}/x", status=404, body=VAGUE))
    await detector.find(page)
    await detector.learn_error_page(a_page(url="http://other.test/x", status=404, body=VAGUE))
    monkeypatch.setattr("repair.soft404.pageparts.htmlpage.tree", None)
    assert detector.recent_finding(page) is None
    assert (await detector.find(page)).miss is None


async def test_a_vouched_page_is_shown_but_other_pages_are_still_judged(made):
    detector = made()
    page = a_page(url=f"{SITE}/a/b", body=ERROR)
    found = await detector.find(page)
    await detector.vouch(page.url, found.sketch)
    again = await detector.find(page)
    assert again.miss is None
    assert again.judgement.kind is PageKind.NOT_FOUND
    assert (await detector.find(a_page(url=f"{SITE}/a/c", body=ERROR))).miss is MissKind.SOFT_404


async def test_a_page_vouched_for_in_another_worker_is_shown_at_once(made):
    here, there = made(), made()
    page = a_page(url=f"{SITE}/a/b", body=ERROR)
    assert (await here.find(page)).miss is MissKind.SOFT_404
    await there.vouch(page.url, (await there.find(page)).sketch)
    assert (await here.find(page)).miss is None


async def test_a_deep_link_that_ends_at_the_start_page_is_missing(made):
    detector = made()
    page = a_page(url=f"{SITE}/", body=LESSON)
    found = await detector.find(page, redirected_from=f"{SITE}/lessons/rivers-and-lakes.html")
    assert (found.miss, found.why) == (MissKind.SOFT_404, "redirect")
    assert (await detector.find(page)).miss is None
    await detector.vouch(f"{SITE}/lessons/rivers-and-lakes.html", ())
    assert (await detector.find(page, redirected_from=f"{SITE}/lessons/rivers-and-lakes.html")).miss is None


async def test_a_redirect_to_a_page_that_matches_the_address_is_a_move(made):
    page = a_page(url=f"{SITE}/", body=LESSON.replace(b"<h1>Lava", b"<h1>All about lava and ash"))
    assert (await made().find(page, redirected_from=f"{SITE}/lessons/lava-and-ash.html")).miss is None


async def test_closing_the_detector_cancels_its_probes(made):
    site = Site(a_page(body=VAGUE))
    site.gate.clear()
    detector = made(site)
    await detector.find(a_page(url=f"{SITE}/a/b", body=VAGUE), budget_s=0.0)
    await detector.close()
    assert not detector._probes


async def test_a_page_vouched_for_in_another_process_is_shown(tmp_path):
    changes = SharedInvalidation()
    here, there = (SiteStore(tmp_path / "sites.sqlite", changes=changes) for _ in range(2))
    page = a_page(url=f"{SITE}/a/b.html", body=ERROR)
    with ThreadPoolExecutor(1) as threads:
        detector, other = Soft404Detector(here, threads), Soft404Detector(there, threads)
        found = await detector.find(page)
        assert detector.recent_finding(page) is found
        await other.vouch(page.url, found.sketch)
        assert detector.recent_finding(page) is None
        assert (await detector.find(page)).miss is None
    here.close()
    there.close()


async def test_an_admins_doubt_overrides_vouching_at_once(tmp_path):
    sites = SiteStore(tmp_path / "sites.sqlite")
    page = a_page(url=f"{SITE}/a/b.html", body=ERROR)
    with ThreadPoolExecutor(1) as threads:
        detector = Soft404Detector(sites, threads)
        await detector.vouch(page.url, (await detector.find(page)).sketch)
        assert (await detector.find(page)).miss is None
        sites.withdraw_vouch(page.url)
        assert (await detector.find(page)).miss is MissKind.SOFT_404
    sites.close()


class FullDisk(SiteStore):
    """A store that cannot be written to."""

    def forget(self, url, sketch):
        raise CollectionError("the disk is full")


async def test_a_vouched_page_is_shown_even_when_nothing_can_be_stored(tmp_path):
    sites = FullDisk(tmp_path / "sites.sqlite")
    page = a_page(url=f"{SITE}/a/b.html", body=ERROR)
    with ThreadPoolExecutor(1) as threads:
        detector = Soft404Detector(sites, threads)
        found = await detector.find(page)
        assert found.miss is MissKind.SOFT_404
        await detector.vouch(page.url, found.sketch)
        assert (await detector.find(page)).miss is None
    sites.close()


SHELL = (
    b"<title>Lost and found - the office of Riverbend School</title><h1>Lost and found, every day till four</h1>"
    b"<div id=root></div><script src=/app.js></script>"
)


async def test_a_shell_sent_for_all_addresses_is_not_missing(made):
    site = Site(a_page(body=SHELL))
    detector = made(site)
    assert (await detector.find(a_page(url=f"{SITE}/a/b", body=SHELL), budget_s=5.0)).miss is None
    await detector.learn_error_page(a_page(url=f"{SITE}/c", status=404, body=SHELL))
    assert (await detector.find(a_page(url=f"{SITE}/a/b", body=SHELL), budget_s=5.0)).miss is None
    assert site.asked == []


async def test_a_static_error_page_is_recognised(made):
    detector = made()
    static = SHELL.replace(b"<div id=root></div><script src=/app.js></script>", b"")
    assert (await detector.find(a_page(url=f"{SITE}/a/b", body=static))).miss is None
    await detector.learn_error_page(a_page(url=f"{SITE}/c", status=404, body=static))
    assert (await detector.find(a_page(url=f"{SITE}/a/b", body=static))).why == "memory"


async def test_a_page_that_plainly_says_something_is_judged_at_once(made):
    detector = made()
    page = a_page(url=f"{SITE}/essay", body=ESSAY)
    found = detector.find_at_once(page)
    assert found == await made().find(page)
    assert detector.recent_finding(page) is found


async def test_a_host_whose_first_lines_do_not_tell_is_left_to_threads_for_a_while(made):
    detector, essay = made(), a_page(url=f"{SITE}/essay", body=ESSAY)
    for number in range(2):
        assert detector.find_at_once(a_page(url=f"{SITE}/{number}", body=VAGUE)) is None
    tried = [detector.find_at_once(essay) is not None for _ in range(60)]
    assert tried.index(True) == 48
    assert all(tried[48:])
    assert detector.find_at_once(a_page(url="http://other.test/", body=ESSAY)) is not None


async def test_a_site_whose_first_lines_told_may_say_less_at_first_on_another_page(made):
    detector, late = made(), b"<ul>" + b"<li><a href=/x>One of the many chapters</a>" * 25 + b"</ul>" + ESSAY
    assert detector.find_at_once(a_page(url=f"{SITE}/essay", body=ESSAY)) is not None
    assert detector.find_at_once(a_page(url=f"{SITE}/late", body=late)) is not None
    assert detector.find_at_once(a_page(url=f"{SITE}/vague", body=VAGUE)) is None
    assert detector.find_at_once(a_page(url=f"{SITE}/again", body=ESSAY)) is not None
