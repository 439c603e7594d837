"""What the backend holds: the stores that have one writer, all that works on them, and the admin UI.

It is a process of its own beside the workers, or part of linkmend's only process.
"""

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

from proxy.app.admin import AdminServices
from proxy.app.clientstate import ClientState
from proxy.app.districtsearch import DistrictSearch
from proxy.app.districtsharing import DistrictSharing
from proxy.app.sharedstate import SharedState
from proxy.archives.client import RememberedCopies, client_from
from proxy.archives.repairpagearchives import ArchiveDisplay, RepairPageArchives
from proxy.district.leftmark import has_left
from proxy.fetching.connectivity import Connectivity
from proxy.lessons.store import LESSON_FOLDER
from proxy.lessons.suggestions import Suggestions
from proxy.lessons.teacherstore import TEACHER_FILE, TeacherStore
from proxy.misses.clicks import OfferClick
from proxy.misses.store import MissStore
from proxy.monitoring.metrics import Metrics
from proxy.monitoring.overview import MonitoringOverview
from proxy.portal.browsing import PortalBrowser
from proxy.portal.linkjudging import LinkJudge
from proxy.privacy.readership import Readership
from proxy.repairservice import RepairPageService, WideLane
from proxy.rpc.protocol import (
    ArchiveService,
    BrowseService,
    CollectionService,
    HarvestService,
    LinkMarkService,
    MissLogService,
    MonitoringService,
    ReadershipService,
    RepairService,
    SuggestionService,
)
from proxy.settings import Settings
from repair.admission import AdmissionControl, AdmittedRepairs
from repair.collection.asynccollection import AsyncCollection
from repair.collection.collection import Collection
from repair.collection.listing import PageListing
from repair.collection.pagesearch import FilteredSearch
from repair.collection.versions import HeldVersions
from repair.crawling.topicdatabase import FOLDER as TOPICS
from repair.crawling.topicguide import TopicGuide
from repair.errors import RepairError
from repair.evidence.archivedcopy import ArchivedCopy
from repair.evidence.hints import Hints
from repair.harvest import Harvester
from repair.model import Page
from repair.moves.rules import Move
from repair.newversion import NewVersionQueries
from repair.pipeline import Repairer

log = logging.getLogger(__name__)

_REPAIR_THREADS = 1  # a second one makes no more repairs a minute, and keeps the workers' core busy
_ABREAST = 2  # while one page is ranked, what archives have is looked up for another, or it is drawn
_DISTRICT_THREADS = 2  # of their own: no page waits for what comes later
_LOOKUP_THREADS = 2  # of their own: a copy is shown without waiting for repairs


class HarvestQueue:
    """The harvester as workers see it: pages and moves are taken in later, by its thread."""

    def __init__(self, harvester: Harvester, hints: Hints) -> None:
        self._harvester = harvester
        self._hints = hints

    def offer(self, page: Page) -> bool:
        return self._harvester.offer(page)

    def note_redirect(self, old: str, new: str) -> None:
        self._harvester.later(partial(self._hints.note_redirect, old, new))


class Backend:
    """Collection, hints, miss log and archives of one data folder, and the admin UI over them."""

    def __init__(self, shared: SharedState, admin_socket: Path, *, process: str = "proxy") -> None:
        """Open everything, in the process of this name; raises LinkmendError or RepairError when that fails.

        `admin_socket` is where the admin UI answers requests that the proxy forwards.
        """
        self._shared = shared
        settings, data = shared.settings, shared.data
        self._threads = ThreadPoolExecutor(_REPAIR_THREADS, thread_name_prefix="repair")
        self._district_threads = ThreadPoolExecutor(_DISTRICT_THREADS, thread_name_prefix="district")
        self._lookups = ThreadPoolExecutor(_LOOKUP_THREADS, thread_name_prefix="look")
        self.watching = MonitoringOverview(process)
        self.collection = Collection.open(data / "collection", settings.collection)
        self.hints = Hints(self.collection, settings.repair)
        self._admission = AdmissionControl(at_once=settings.repair.at_once, abreast=_ABREAST)
        self.harvester = Harvester(
            self.collection,
            settings.collection,
            self.hints,
            is_hurried=lambda: self._admission.in_progress > 0,
        )
        self.harvest = HarvestQueue(self.harvester, self.hints)
        self.mementos = client_from(settings, data, on_move=self._note_move, reach=lambda: shared.reach)
        self.mementos.offline = settings.proxy.offline  # a rule may ask archives that are else left alone
        self.misses = MissStore(
            data / "misses",
            settings.misses,
            on_choice=self._note_choice,
            on_record=self.watching.note_miss,
        )
        self.suggestions = Suggestions(
            TeacherStore(data / LESSON_FOLDER / TEACHER_FILE),
            self.misses,
            retention_days=lambda: shared.settings.misses.retention_days,
        )
        self.async_collection = AsyncCollection(self.collection, self._lookups)
        self._build_portal()
        self._build_repair()
        self.admin_socket = admin_socket
        self.admin = AdminServices(shared, self)

    def _build_portal(self) -> None:
        """What people browse has a thread of its own: no copy and no repair waits for it."""
        self._browsing = ThreadPoolExecutor(1, thread_name_prefix="browse")
        listing = PageListing(self.collection.database)
        guide = TopicGuide(self._shared.data / TOPICS, self.collection, listing)
        search = FilteredSearch(self.collection, listing, guide.urls_of)
        self.browser = PortalBrowser(listing, guide, search, self._browsing)
        self.readership = Readership(listing, least=lambda: self._shared.settings.portal.least_readers)
        self.clients = ClientState(self.readership)
        self._counting: asyncio.Task[None] | None = None

    def _build_repair(self) -> None:
        settings = self._shared.settings
        copies = RememberedCopies(self.mementos, on_news=lambda url: self.repair_service.forget(url))
        archived = ArchivedCopy(copies, self.collection, stop_titles=settings.repair.stop_titles)
        self.district = DistrictSearch(
            self.collection,
            self.hints,
            settings.district,
            settings.repair,
            is_hurried=lambda: self._admission.in_progress > 0,
            has_left=has_left(self._shared.data),
        )
        self.sharing = DistrictSharing(
            self._shared.data,
            self.collection.database,
            self._shared.sites,
            settings,
            is_hurried=lambda: self._admission.in_progress > 0,
        )
        made = partial(
            Repairer, self.collection, settings.repair, hints=self.hints, further_sources=(archived,)
        )
        repairer = wider = made(self._threads)
        admission, wide = self._admission, None
        if self.district.find is not None:
            wider = made(self._district_threads, find=self.district.find, text_of=self.district.text_of)
            admission = AdmissionControl(at_once=settings.repair.at_once, abreast=_DISTRICT_THREADS)
            wide = WideLane(
                repairer=wider,
                admission=admission,
                is_there=self.district.is_there,
                patience_s=settings.district.search_deadline_s,
            )
        self.repairer = AdmittedRepairs(wider, self.async_collection, admission)
        self.archives = RepairPageArchives(
            self.mementos,
            copies,
            NewVersionQueries(self.collection, settings.repair, self.hints),
            self._threads,
            ArchiveDisplay(
                portal=self._shared.portal_reachable,
                versions=self._readable_versions,
                search=repairer.search,
                search_template=settings.repair.search_template,
            ),
        )
        self.link_judge = LinkJudge(
            self.collection,
            wider,
            self._lookups,
            is_stored=self._is_stored,
            known_dead=self.misses.known_dead,
            is_hurried=lambda: self._admission.in_progress > 0,
        )
        self.repair_service = RepairPageService(
            repairer,
            self.async_collection,
            self._admission,
            self.archives,
            self._lookups,
            wide=wide,
            on_late_offers=self.misses.add_offers,
        )

    def services(self) -> dict[type, object]:
        """The implementations of the services that workers in other processes call."""
        return {
            RepairService: self.repair_service,
            BrowseService: self.browser,
            ReadershipService: self.readership,
            LinkMarkService: self.link_judge,
            CollectionService: self.async_collection,
            ArchiveService: self.archives,
            MissLogService: self.misses,
            SuggestionService: self.suggestions,
            HarvestService: self.harvest,
            MonitoringService: self.watching,
        }

    @property
    def metrics(self) -> Metrics:
        return self.watching.metrics

    @property
    def internet(self) -> Connectivity:
        return self.watching.connectivity

    def apply(self, settings: Settings) -> None:
        """Take over new settings while running. Sizes of stores and queues wait for the next start."""
        self.mementos.offline = settings.proxy.offline
        self.archives.shown = replace(self.archives.shown, search_template=settings.repair.search_template)
        self.repair_service.forget()
        self.admin.apply(settings)

    async def start(self) -> None:
        await self.mementos.__aenter__()
        self.district.start()
        self.sharing.start()
        self._counting = asyncio.create_task(self.readership.run(self._browsing))
        await self.admin.start()

    async def close(self) -> None:
        """Write what waits and close every store; called once nothing is in flight any more."""
        if self._counting is not None:
            self._counting.cancel()
        await self.admin.stop()
        await self.link_judge.close()
        await self.archives.close()
        await self.mementos.__aexit__(None, None, None)  # what it still learns goes to the harvester
        await asyncio.to_thread(self._close_stores)

    def _close_stores(self) -> None:
        self.suggestions.store.close()
        self.misses.close()  # what it still learns goes to the harvester
        self.harvester.close()
        self.district.close()
        self.sharing.close()
        for threads in (self._threads, self._district_threads, self._lookups, self._browsing):
            threads.shutdown(wait=True, cancel_futures=True)
        self._store_readers()
        self.collection.close()

    def _store_readers(self) -> None:
        try:
            self.readership.store()
        except RepairError as error:  # the disk may be full
            log.warning("readers of today are not stored: %s", error)

    async def _is_stored(self, url: str) -> bool:
        return bool(await self._shared.responses.lookup(url))

    def _note_choice(self, click: OfferClick) -> None:
        note = partial(self.hints.note_choice, click.url, click.chosen, click.at)
        self.harvester.later(partial(note, network=click.network, unfit=click.unfit))

    def _note_move(self, move: Move) -> None:
        self.harvest.note_redirect(move.old, move.new)

    async def _readable_versions(self, url: str) -> HeldVersions | None:
        return (
            await self.async_collection.versions(url)
            if self._shared.settings.collection.share != "off"
            else None
        )
