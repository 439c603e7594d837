"""What people browse at the portal: topics, lists of saved pages, searches; worked out in a thread, and kept a while.

A class that opens the same topic at once needs it worked out once. Distinct requests queue for the one thread; past
so many, they fail at once.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import Any

from proxy.portal.addresses import BrowseList
from proxy.portal.routemodel import BrowseRoute, TopicRoute
from repair.collapsing import MadeResult, ResultCollapser
from repair.collection.listing import BrowsedPage, BrowsedSite, PageListing
from repair.collection.pagesearch import FilteredSearch, SearchRequest, SearchResults
from repair.crawling.topicguide import TopicGuide, TopicSection, TopicSummary

PER_PAGE = 20
ON_START_PAGE = 6
SITES_ON_START_PAGE = 12
PER_SUBTOPIC = 4
_SITES_PER_PAGE = 100
_LANGUAGES = 30
_KEEP_S = 60.0
_KEEP_SEARCH_S = 1.0  # who has just saved a page wants to find it
_MAX_KEPT = 300
_MAX_WAITING = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class BrowseResults:
    """One page of a list: of saved pages, or of sites."""

    pages: tuple[BrowsedPage, ...] = ()
    sites: tuple[BrowsedSite, ...] = ()
    has_more: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StartPageLists:
    """What the start page lists."""

    topics: tuple[TopicSummary, ...] = ()
    newest: tuple[BrowsedPage, ...] = ()
    most_read: tuple[BrowsedPage, ...] = ()
    sites: tuple[BrowsedSite, ...] = ()
    languages: tuple[tuple[str, int], ...] = ()


class BrowsingBusy(TimeoutError):
    """Too many requests wait already."""


class PortalBrowser:
    """Answers what people browse, over one collection and its topics."""

    def __init__(
        self,
        listing: PageListing,
        guide: TopicGuide,
        search: FilteredSearch,
        threads: Executor,
    ) -> None:
        self._listing = listing
        self._guide = guide
        self._search = search
        self._threads = threads
        self._results = ResultCollapser[Any, Any](limit=_MAX_KEPT)
        self._waiting = 0
        self.refused = 0

    def forget(self) -> None:
        """Work out everything anew from now on: a page was removed."""
        self._results.forget()

    async def start_page(self) -> StartPageLists:
        """The lists of the start page."""
        made: StartPageLists = await self._make("start", self._start_page)
        return made

    async def topic(self, request: TopicRoute) -> tuple[TopicSection, ...]:
        """The sections of a topic; none for an unknown one."""
        made: tuple[TopicSection, ...] = await self._make(request, partial(self._topic, request))
        return made

    async def browse(self, request: BrowseRoute) -> BrowseResults:
        """A page of a list."""
        made: BrowseResults = await self._make(request, partial(self._browse, request))
        return made

    async def find(self, request: SearchRequest) -> SearchResults:
        """A page of search results."""
        made: SearchResults = await self._make(
            request, partial(self._search.search, request), keep_s=_KEEP_SEARCH_S
        )
        return made

    async def _make(self, key: object, work: Callable[[], object], keep_s: float = _KEEP_S) -> Any:
        async def make() -> MadeResult[Any]:
            if self._waiting >= _MAX_WAITING:
                self.refused += 1
                raise BrowsingBusy("too many wait to browse")
            self._waiting += 1
            try:
                value = await asyncio.get_running_loop().run_in_executor(self._threads, work)
            finally:
                self._waiting -= 1
            return MadeResult(value=value, keep_s=keep_s)

        return await self._results.get(key, make)

    def _start_page(self) -> StartPageLists:
        return StartPageLists(
            topics=self._guide.topics(),
            newest=self._listing.newest(ON_START_PAGE),
            most_read=self._listing.most_read(ON_START_PAGE),
            sites=self._listing.sites(SITES_ON_START_PAGE),
            languages=self._listing.languages(_LANGUAGES),
        )

    def _topic(self, request: TopicRoute) -> tuple[TopicSection, ...]:
        whole = request.subtopic is None
        return self._guide.sections(
            request.topic,
            subtopic=request.subtopic,
            limit=PER_SUBTOPIC if whole else PER_PAGE,
            offset=0 if whole else (request.page - 1) * PER_PAGE,
        )

    def _browse(self, request: BrowseRoute) -> BrowseResults:
        if request.list is BrowseList.SITES:
            sites = self._listing.sites(_SITES_PER_PAGE + 1, (request.page - 1) * _SITES_PER_PAGE)
            return BrowseResults(sites=sites[:_SITES_PER_PAGE], has_more=len(sites) > _SITES_PER_PAGE)
        lists: dict[BrowseList, Callable[[int, int], tuple[BrowsedPage, ...]]] = {
            BrowseList.NEWEST: self._listing.newest,
            BrowseList.READ: self._listing.most_read,
            BrowseList.SITE: partial(self._listing.of_site, request.of),
            BrowseList.LANGUAGE: partial(self._listing.of_language, request.of),
        }
        pages = lists[request.list](PER_PAGE + 1, (request.page - 1) * PER_PAGE)
        return BrowseResults(pages=pages[:PER_PAGE], has_more=len(pages) > PER_PAGE)
