"""What workers ask of the backend, and tell it and each other: the one declaration of every call.

Workers are handed objects of these shapes: in a process of their own, stubs that `RpcClient` makes; where everything
is in one process, the implementations themselves. Arguments and results are msgspec structs, dataclasses or plain
values; what cannot be sent cannot be declared.
"""

from datetime import datetime
from typing import Protocol

from proxy.misses.record import MissRecord
from proxy.monitoring.metrics import MetricsSnapshot
from proxy.monitoring.recentproblems import LoggedProblem
from proxy.pages.render import RenderedPage
from proxy.portal.browsing import BrowseResults, StartPageLists
from proxy.portal.linkjudging import LinkMark
from proxy.portal.routemodel import BrowseRoute, LateOffersRoute, MementosRoute, TopicRoute
from proxy.privacy.suppressed import SuppressedPage
from proxy.repairservice import REMEMBER_S, RepairRequest, RepairResponse
from proxy.rpc.methods import broadcast, notify, request, version_of
from repair.collection.pagesearch import SearchRequest, SearchResults
from repair.collection.versions import HeldVersions
from repair.crawling.topicguide import TopicSection
from repair.model import BrokenLink, HeldCopy, HeldPage, Page

_LOOKUP_S = 5.0
_SEARCH_S = 30.0  # callers give up earlier, and the backend is notified
_ARCHIVES_S = 30.0  # the backend itself waits for what archives say


class RepairService(Protocol):
    """Makes repair pages, and adds to them."""

    # After `within_s` the backend has a page with what is known; it gets a moment more to send it.
    @request(within_s=2 * REMEMBER_S)
    async def repair_page(self, miss: RepairRequest, *, within_s: float) -> RepairResponse: ...

    @request(within_s=_SEARCH_S, otherwise=None)
    async def late_offers(self, call: LateOffersRoute, language: str, client: str) -> RenderedPage | None: ...


class BrowseService(Protocol):
    """Topics, lists of saved pages and searches for people who browse the portal."""

    @request(within_s=_SEARCH_S, otherwise=None)
    async def start_page(self) -> StartPageLists | None: ...

    @request(within_s=_SEARCH_S)
    async def topic(self, request: TopicRoute) -> tuple[TopicSection, ...]: ...

    @request(within_s=_SEARCH_S)
    async def browse(self, request: BrowseRoute) -> BrowseResults: ...

    @request(within_s=_SEARCH_S)
    async def find(self, request: SearchRequest) -> SearchResults: ...


class LinkMarkService(Protocol):
    """Knows which links of a saved page lead nowhere or have a replacement."""

    @request(within_s=_LOOKUP_S, otherwise=())
    async def marks(self, source_url: str, offline: bool) -> tuple[LinkMark, ...]: ...


class ReadershipService(Protocol):
    """Counts how many users open a page."""

    @notify(may_wait=True)
    def page_opened(self, client: str, url: str) -> None: ...


class CollectionService(Protocol):
    """Knows which pages are held."""

    @request(within_s=_LOOKUP_S, otherwise=None)
    async def copy(self, url: str) -> HeldCopy | None: ...

    @request(within_s=_LOOKUP_S, otherwise=None)
    async def versions(self, url: str) -> HeldVersions | None: ...

    @request(within_s=_LOOKUP_S, otherwise=None)
    async def version(self, url: str, moment: datetime) -> HeldCopy | None: ...

    @request(within_s=_LOOKUP_S, otherwise=None)
    async def page(self, url: str) -> HeldPage | None: ...

    @request(within_s=_LOOKUP_S, otherwise=0)
    async def count(self) -> int: ...


class ArchiveService(Protocol):
    """Knows the archived versions of lost pages."""

    @notify()
    def note(self, miss_id: str, client: str, link: BrokenLink, *, ask: bool = True) -> None: ...

    @request(within_s=_ARCHIVES_S, otherwise=None)
    async def answer(self, call: MementosRoute, language: str, client: str) -> RenderedPage | None: ...


class MissLogService(Protocol):
    """Records missed pages, which alternative was opened, searches that found nothing, and pictures that are gone."""

    @notify()
    def record(self, record: MissRecord) -> None: ...

    @notify()
    def record_choice(self, miss_id: str, number: int, *, client: str, network: str) -> None: ...

    @notify()
    def record_search(self, words: str, *, client: str) -> None: ...

    @notify()
    def record_dead_medium(self, url: str, page: str, medium: str, *, client: str) -> None: ...


class SuggestionService(Protocol):
    """Passes on what pupils looked for at a dead link."""

    @request(within_s=_LOOKUP_S, otherwise=False)
    async def suggest(self, miss_id: str, words: str, *, client: str) -> bool: ...


class HarvestService(Protocol):
    """Takes pages into the collection, and learns where pages moved."""

    @notify(may_wait=True)
    def offer(self, page: Page) -> bool: ...

    @notify()
    def note_redirect(self, old: str, new: str) -> None: ...


class MonitoringService(Protocol):
    """Gathers what every worker sees and counts."""

    @notify()
    def report_internet(self, at: float, answered: bool) -> None:
        """Whether sites answer, at a moment of `time.monotonic`, which all processes of a machine share."""

    @notify()
    def report_metrics(
        self, worker: str, pid: int, snapshot: MetricsSnapshot, problems: tuple[LoggedProblem, ...] = ()
    ) -> None:
        """What a worker counted since it began, and the problems that it has logged since the last report."""


class ClientEvents(Protocol):
    """What one worker learns about a client, and all others have to know: the next request may come to them."""

    @broadcast(may_wait=True)
    def client_opened(self, client: str, url: str) -> None: ...

    @broadcast()
    def client_redirected(self, client: str, requested: str, location: str) -> None: ...

    @broadcast()
    def client_landed(self, client: str, url: str) -> None: ...

    @broadcast()
    def client_auto_redirected(self, client: str, missed: str, target: str) -> None: ...

    @broadcast()
    def client_arrived(self, client: str, url: str) -> None: ...

    @broadcast()
    def page_suppressed(self, miss_id: str, client: str, page: SuppressedPage) -> None: ...

    @broadcast()
    def leave_given(self, client: str, url: str) -> None: ...


SERVICES: tuple[type, ...] = (
    RepairService,
    BrowseService,
    LinkMarkService,
    ReadershipService,
    CollectionService,
    ArchiveService,
    MissLogService,
    SuggestionService,
    HarvestService,
    MonitoringService,
    ClientEvents,
)
VERSION = version_of(SERVICES)
