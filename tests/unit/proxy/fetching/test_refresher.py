"""Asking again for pages of a topic, over a fetcher with configured answers."""

import asyncio
from types import SimpleNamespace

import pytest

from proxy.fetching.connectivity import Connectivity
from proxy.fetching.crawler import CrawlTools
from proxy.fetching.entries import NoConnectivity, PageGone, TemporaryFetchError
from proxy.fetching.fetcher import FetchedPage
from proxy.fetching.politeness import HostSlots
from proxy.fetching.refresher import RefreshLimits, TopicRefresher
from repair.crawling.revisits import RevisitOutcome, RevisitStore
from repair.harvest import addition_of
from repair.settings import CollectionSettings
from tests.fakes import FakeClock
from tests.make import a_page
from tests.unit.proxy.fetching.test_crawler import FETCH, Crawling, Web, a_topic_crawl, html
from tests.unit.repair.crawling.pages import FARM, farm_texts, other_texts

WEEKS_S = 30 * 86_400.0
PAGE = "http://a.test/page"
PLENTY = RefreshLimits(pages=50, bytes=10**9)


class ChangingWeb(Web):
    """Also notes the validators, and answers sitemaps and redirects; saves into the collection."""

    def __init__(self, pages, collection):
        super().__init__(pages)
        self.validators = {}
        self.site_lists = {}
        self._collection = collection

    async def fetch(self, url, *, limits, validators=None):
        self.asked.append(url)
        self.validators[url] = dict(validators or {})
        answer = self.pages.get(url, PageGone("the site answered with status 404"))
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, FetchedPage) else FetchedPage(page=a_page(url, body=answer))

    async def sitemaps(self, site):
        return (f"{site}/map.xml",)

    def note_site_list(self, url, found):
        self.site_lists[url] = [page.url for page in found.pages]

    async def save(self, fetched):
        self.saved.append(fetched.page.url)
        self._collection.add_many([addition_of(fetched.page, CollectionSettings(), pinned=True)])


class Refreshing(Crawling):
    def __init__(self, folder):
        super().__init__(folder)
        self.clock = FakeClock(2e9)
        self.revisits = RevisitStore(self.database, self.clock)
        self.headers = (("ETag", '"v1"'), ("Last-Modified", "Sun, 01 Mar 2026 00:00:00 GMT"))

    def hold(self, url, body):
        self.collection.add_many([addition_of(a_page(url, body=body), CollectionSettings(), pinned=True)])
        self.topics.note_page(url, "Farm", 0.9)

    def refresh(self, pages, limits=PLENTY):
        web = ChangingWeb(pages, self.collection)

        async def lookup(url):
            return (SimpleNamespace(pinned=True, headers=self.headers),)

        tools = CrawlTools(
            fetcher=web,
            saver=web,
            collection=self.collection,
            host_slots=HostSlots(),
            connectivity=Connectivity(),
            topics=self.topics,
            fetch=FETCH,
            read=None,
            reading=CollectionSettings(),
            responses=SimpleNamespace(lookup=lookup),
        )
        crawl = a_topic_crawl("Farm", farm_texts(20), other_texts(40))
        refresher = TopicRefresher(crawl, self.store, tools, self.revisits, limits=limits)
        return web, asyncio.run(refresher.run())

    def waiting(self):
        return {link.url: link for link, _ in self.store.waiting()}


@pytest.fixture
def refreshing(tmp_path):
    refreshing = Refreshing(tmp_path)
    yield refreshing
    refreshing.collection.close()
    refreshing.database.close()


def outcomes(report):
    return {outcome.value: count for outcome, count in report.outcomes.items() if count}


def test_unchanged_page_costs_a_conditional_request(refreshing):
    refreshing.hold(PAGE, html(FARM, "page"))
    web, report = refreshing.refresh({PAGE: FetchedPage(page=a_page(PAGE, status=304, body=b""))})
    assert outcomes(report) == {"unchanged": 1}
    assert web.validators[PAGE] == {
        "If-None-Match": '"v1"',
        "If-Modified-Since": "Sun, 01 Mar 2026 00:00:00 GMT",
    }
    assert web.saved == []
    again, report = refreshing.refresh({})
    assert (again.asked, report.stopped) == ([], "nothing more is due")


def test_site_that_ignores_conditions_changes_nothing_with_the_same_text(refreshing):
    refreshing.hold(PAGE, html(FARM, "page"))
    web, report = refreshing.refresh({PAGE: html(FARM, "page") + b"<!-- made at noon -->"})
    assert (outcomes(report), web.saved) == ({"unchanged": 1}, [])


def test_changed_page_is_saved_and_its_new_links_wait(refreshing):
    refreshing.hold(PAGE, html(FARM, "page"))
    web, report = refreshing.refresh({PAGE: html(FARM, "newer", "http://b.test/new")})
    assert (outcomes(report), web.saved, report.new_links) == ({"changed": 1}, [PAGE], 1)
    assert list(refreshing.waiting()) == ["http://b.test/new"]
    assert refreshing.waiting()["http://b.test/new"].worth > 0


def test_deleted_page_is_kept(refreshing):
    refreshing.hold(PAGE, html(FARM, "page"))
    _, report = refreshing.refresh({})
    assert outcomes(report) == {"gone": 1}
    assert refreshing.collection.holds(PAGE)
    assert [page.url for page in refreshing.topics.pages("Farm")] == [PAGE]
    assert refreshing.revisits.gone_count("Farm") == 1


@pytest.mark.parametrize(("status", "outcome", "saved"), [(301, "moved", True), (302, "unchanged", False)])
def test_only_a_move_for_good_counts(refreshing, status, outcome, saved):
    new = "http://a.test/new"
    refreshing.hold(PAGE, html(FARM, "page"))
    led = FetchedPage(
        page=a_page(new, body=html(FARM, "page")), redirects=(a_page(PAGE, status=status, body=b""),)
    )
    web, report = refreshing.refresh({PAGE: led})
    assert (outcomes(report), web.saved) == ({outcome: 1}, [new] if saved else [])
    assert (new in {page.url for page in refreshing.topics.pages("Farm")}) is saved
    assert refreshing.collection.holds(PAGE)


def test_failures_are_tried_again_and_silence_ends_the_run(refreshing):
    for name in ("a", "b"):
        refreshing.hold(f"http://{name}.test/", html(FARM, name))
    _, report = refreshing.refresh(
        {"http://a.test/": TemporaryFetchError("busy"), "http://b.test/": html(FARM, "b")}
    )
    assert outcomes(report) == {"failed": 1, "unchanged": 1}
    refreshing.clock.now += WEEKS_S
    silent = {f"http://{name}.test/": NoConnectivity("nobody") for name in ("a", "b")}
    for _ in range(5):
        _, report = refreshing.refresh(silent)
    assert set(outcomes(report)) <= {"failed"}


def test_budget_bounds_a_run(refreshing):
    for number in range(3):
        refreshing.hold(f"http://a{number}.test/", html(FARM, number))
    web, _ = refreshing.refresh({}, RefreshLimits(pages=2, bytes=10**9))
    assert len(web.asked) == 2
    web, report = refreshing.refresh({}, RefreshLimits(pages=2, bytes=0))
    assert (web.asked, report.stopped) == ([], "budget of bytes reached")


def test_lists_of_good_hosts_tell_of_changed_and_new_pages(refreshing):
    for number in range(3):
        refreshing.hold(f"http://a.test/{number}", html(FARM, number))
    for revisit in refreshing.revisits.due("Farm", limit=9):
        refreshing.revisits.note(revisit, RevisitOutcome.UNCHANGED)
    sitemap = (
        b"<urlset><url><loc>http://a.test/1</loc><lastmod>2100-01-01</lastmod></url>"
        b"<url><loc>http://a.test/soil-harvest</loc></url><url><loc>http://a.test/2</loc></url>"
        b"<url><loc>http://a.test/?token=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abcdefghij</loc></url></urlset>"
    )
    web, report = refreshing.refresh(
        {"http://a.test/map.xml": sitemap, "http://a.test/1": html(FARM, "newer")}
    )
    assert (outcomes(report), report.new_links) == ({"changed": 1}, 1)
    assert list(refreshing.waiting()) == ["http://a.test/soil-harvest"]
    assert web.asked == ["http://a.test/map.xml", "http://a.test/1"]
    assert len(web.site_lists["http://a.test/map.xml"]) == 4  # what it no longer lists may have moved


def test_feeds_bring_words_with_their_links(refreshing):
    named = b'<link rel="alternate" type="application/rss+xml" href="/feed">'
    for number in range(3):
        refreshing.hold(f"http://a.test/{number}", html(FARM, number) + named)
    feed = b"<rss><item><link>http://a.test/new</link><title>Soil of the month</title></item></rss>"
    web, _ = refreshing.refresh({"http://a.test/feed": feed})
    assert refreshing.waiting()["http://a.test/new"].anchor == "Soil of the month"
    assert web.asked.count("http://a.test/feed") == 1
