"""proxy.portal.browsing: lists are worked out in a thread, once for all who ask, and not for too many."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from proxy.portal.addresses import BrowseList
from proxy.portal.browsing import PER_PAGE, BrowsingBusy, PortalBrowser
from proxy.portal.routemodel import BrowseRoute, TopicRoute
from repair.collection.listing import BrowsedSite, PageListing
from repair.collection.pagesearch import FilteredSearch, SearchRequest, SearchResults
from repair.crawling.topicguide import TopicGuide
from tests.holdings import a_collection, a_document
from tests.make import A_MOMENT


@pytest.fixture
def threads():
    with ThreadPoolExecutor(1) as made:
        yield made


@pytest.fixture
def browser(tmp_path, threads):
    collection = a_collection(tmp_path / "collection")
    for number in range(PER_PAGE + 3):
        page = a_document(f"/{number}", title=f"River {number}", text="Rivers flow.", language="en")
        collection.add(page, fetched_at=A_MOMENT, pinned=True)
    collection.commit()
    listing = PageListing(collection.database)
    guide = TopicGuide(tmp_path / "topics", collection, listing)
    yield PortalBrowser(listing, guide, FilteredSearch(collection, listing, guide.urls_of), threads)
    collection.close()


async def test_the_start_page_has_a_little_of_every_list(browser):
    lists = await browser.start_page()
    assert len(lists.newest) == 6
    assert lists.sites == (BrowsedSite(site="school.test", pages=23),)
    assert lists.languages == (("en", 23),)
    assert lists.topics == lists.most_read == ()


@pytest.mark.parametrize(
    "route",
    [
        BrowseRoute(list=BrowseList.NEWEST),
        BrowseRoute(list=BrowseList.SITE, of="school.test"),
        BrowseRoute(list=BrowseList.LANGUAGE, of="en"),
    ],
)
async def test_lists_come_in_pages(browser, route):
    first = await browser.browse(route)
    assert len(first.pages) == PER_PAGE
    assert first.has_more
    second = await browser.browse(BrowseRoute(list=route.list, of=route.of, page=2))
    assert len(second.pages) == 3
    assert not second.has_more


async def test_sites_the_most_read_and_topics_may_be_empty(browser):
    assert (await browser.browse(BrowseRoute(list=BrowseList.SITES))).sites[0].pages == 23
    assert (await browser.browse(BrowseRoute(list=BrowseList.READ))).pages == ()
    assert await browser.topic(TopicRoute(topic="Water")) == ()


class SlowSearch:
    """Waits for leave, and counts."""

    def __init__(self):
        self.leave = threading.Event()
        self.searched = 0

    def search(self, request):
        self.searched += 1
        self.leave.wait(10)
        return SearchResults(suggestion=request.text)


async def test_many_who_search_the_same_are_one_search_and_it_is_kept(threads):
    search = SlowSearch()
    browser = PortalBrowser(None, None, search, threads)
    asking = [asyncio.create_task(browser.find(SearchRequest(text="a"))) for _ in range(30)]
    await asyncio.sleep(0)
    search.leave.set()
    assert {found.suggestion for found in await asyncio.gather(*asking)} == {"a"}
    await browser.find(SearchRequest(text="a"))
    assert search.searched == 1


async def test_after_a_removal_nobody_gets_what_was_made_before(threads):
    search = SlowSearch()
    browser = PortalBrowser(None, None, search, threads)
    search.leave.set()
    await browser.find(SearchRequest(text="lava"))
    browser.forget()
    await browser.find(SearchRequest(text="lava"))
    assert search.searched == 2


async def test_a_page_that_was_just_saved_is_found_a_moment_later(tmp_path, threads, monkeypatch):
    monkeypatch.setattr("proxy.portal.browsing._KEEP_SEARCH_S", 0.0)
    with a_collection(tmp_path / "collection") as collection:
        listing = PageListing(collection.database)
        search = FilteredSearch(collection, listing, lambda name: frozenset())
        browser = PortalBrowser(listing, None, search, threads)
        assert (await browser.find(SearchRequest(text="honey"))).found == ()
        collection.add(a_document("/bees", text="Bees and honey"), fetched_at=A_MOMENT)
        collection.commit()
        assert (await browser.find(SearchRequest(text="honey"))).total == 1


async def test_past_so_many_different_requests_the_next_fails_at_once(threads):
    search = SlowSearch()
    browser = PortalBrowser(None, None, search, threads)
    asking = [asyncio.create_task(browser.find(SearchRequest(text=str(n)))) for n in range(50)]
    await asyncio.sleep(0.01)
    with pytest.raises(BrowsingBusy):
        await browser.find(SearchRequest(text="one too many"))
    assert browser.refused == 1
    search.leave.set()
    await asyncio.gather(*asking)
