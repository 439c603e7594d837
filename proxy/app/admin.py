"""What an admin has beside the proxy: the admin UI, the metrics port, the fetch queue and the removal of pages.

It is part of the backend, where the stores are.
"""

import logging
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from proxy.admin.health import report_of
from proxy.admin.home.warnings import setup_warnings
from proxy.admin.imports import DeskImports
from proxy.admin.routing import AdminContext
from proxy.admin.server import AdminServer, HttpListener
from proxy.app.districtdesk import DistrictDeskLink
from proxy.app.nights import NightlyGrowth
from proxy.app.sharedstate import SharedState
from proxy.doctor.model import Finding
from proxy.fetching.entries import FetchState
from proxy.fetching.rulecheck import FetchRuleCheck
from proxy.fetching.saving import FetchedPageSaver
from proxy.fetching.service import FetchService
from proxy.lessons.nightly import NightlyPageChecks
from proxy.lessons.service import LessonService
from proxy.lessons.store import LESSON_FOLDER
from proxy.misses.review import MissReview
from proxy.monitoring.endpoints import create_app
from proxy.monitoring.health import HealthSources, model_beside
from proxy.monitoring.parentwatch import ParentWatch
from proxy.removal.orders import RemovalOrders
from proxy.removal.remover import PageRemover
from proxy.rules.history import RuleEdits
from proxy.runningmark import RunningSettings
from proxy.settings import Settings, split_address
from proxy.tls.certificates import origin_context
from repair.collection.pins import Pins
from repair.crawling.topicdatabase import FOLDER, TopicDatabase, TopicDatabaseError
from repair.growing.growthstore import GrowthStore

log = logging.getLogger(__name__)

if TYPE_CHECKING:
    from proxy.app.backend import Backend


class AdminServices:
    """Started and stopped with the proxy; the proxy serves pages even if one of them cannot listen."""

    def __init__(self, shared: SharedState, backend: "Backend") -> None:
        """Raises StoreError when the fetch queue cannot be opened."""
        self._shared = shared
        self._backend = backend
        self._watching = backend.watching
        self._pins = Pins(backend.collection.database)
        self._fetching = FetchService(
            shared.data / "fetch",
            self._saver,
            backend.watching.connectivity,
            settings=lambda: shared.settings,
            reach=lambda: shared.reach,
            tls=origin_context(shared.settings.proxy),
        )
        self._topics = _open_topics(shared.data / FOLDER)
        self._lessons = LessonService(
            shared.data / LESSON_FOLDER,
            settings=lambda: shared.settings,
            reach=lambda: shared.reach,
            rules=lambda: shared.rules.ruleset,
            tls=origin_context(shared.settings.proxy),
            detector=shared.detector,
            connectivity=backend.watching.connectivity,
            repairs=backend.repairer,
            saved=backend.async_collection,
            fetches=self._fetching.queue,
            turns=shared.data / "fetch" / "hosts",
            teachers=backend.suggestions.store,
            pins=self._pins,
        )
        backend.suggestions.owner_of_link = self._lessons.store.owner_of_link
        self._my_pages = NightlyPageChecks(self._lessons, lambda: shared.settings)
        self._parent = ParentWatch(lambda: shared.settings.proxy.parent)
        self._nights = NightlyGrowth(shared.data, lambda: shared.settings, last_night=self._last_night)
        self._remover = self._made_remover()
        self._removals = RemovalOrders(shared.data / "removals")
        self._imports = DeskImports(shared.data, lambda: shared.settings)
        context = self._context()
        self._server = AdminServer(context, backend.admin_socket)
        self._district = self._made_district_link(context)
        self.unready: Callable[[], str] = lambda: "not listening yet"
        """Why no client is served at this moment; set by the process that runs the proxy."""
        self.running: Callable[[], RunningSettings | None] = lambda: None
        """What the supervisor says of itself; set where there is one."""
        self._probes = HttpListener(
            create_app(self._watching.snapshot, lambda: self.unready() or self._parent.fault),
            what="port for figures",
        )
        self.metrics_address = ""
        self.ports: frozenset[int] = frozenset()
        """Where it listens on this machine."""
        self._watch()

    @property
    def address(self) -> str:
        """Where the admin UI listens; empty while it does not."""
        return self._server.address

    def apply(self, settings: Settings) -> None:
        """Logging was set up anew, which removes all handlers."""
        self._listen_to_log()

    async def start(self) -> None:
        self._listen_to_log()
        await self._parent.start()
        await self._fetching.start()
        await self._lessons.start()
        await self._my_pages.start()
        await self._nights.start()
        await self._removals.start(self._remover)
        await self._district.start()
        await self._server.start()
        metrics = self._shared.settings.metrics
        if metrics.enabled:
            self.metrics_address = await self._probes.listen(metrics.listen)
        listening = (self.address, self.metrics_address)
        self.ports = frozenset(split_address(address)[1] for address in listening if address)
        self._shared.note_ports(self.ports)

    async def stop(self) -> None:
        self._watching.missing_now.close()
        await self._parent.close()
        await self._server.stop()
        await self._probes.stop()
        await self._district.close()
        await self._removals.close()
        await self._imports.close()
        await self._my_pages.close()
        await self._lessons.close()
        await self._nights.close()
        if self._topics is not None:
            self._topics.close()
        await self._fetching.close()
        logging.getLogger().removeHandler(self._watching.problems)

    def describe(self) -> str:
        """Where admins find what, for the terminal: a line each."""
        places = (("desk", self.address), ("metrics", self.metrics_address))
        return "".join(f"linkmend {name} on http://{place}\n" for name, place in places if place)

    def _last_night(self) -> datetime | None:
        nights = GrowthStore(self._topics).nights(1) if self._topics is not None else ()
        return datetime.fromtimestamp(nights[0].started_at, UTC) if nights else None

    def _listen_to_log(self) -> None:
        logging.getLogger().addHandler(self._watching.problems)

    def _saver(self, max_bytes: Callable[[], int]) -> FetchedPageSaver:
        return FetchedPageSaver(
            responses=self._shared.responses,
            collection=self._backend.collection,
            harvester=self._backend.harvester,
            hints=self._backend.hints,
            detector=self._shared.detector,
            settings=self._shared.settings.collection,
            max_bytes=max_bytes,
            rulings=FetchRuleCheck(lambda: self._shared.rules.ruleset),
        )

    def _made_remover(self) -> PageRemover:
        backend = self._backend
        return PageRemover(
            self._shared.data,
            responses=self._shared.responses,
            collection=backend.collection,
            hints=backend.hints,
            pins=self._pins,
            misses=backend.misses,
            fetches=self._fetching.queue,
            mementos=backend.mementos,
            harvester=backend.harvester,
            missing_now=self._watching.missing_now,
            on_removed=backend.browser.forget,
            district=self._shared.settings.district,
        )

    def _made_district_link(self, context: AdminContext) -> DistrictDeskLink:
        async def warnings() -> Sequence[Finding]:
            report = await report_of(context)
            return (
                ()
                if report is None
                else await setup_warnings(self._shared.settings, self._shared.data, report)
            )

        return DistrictDeskLink(
            self._shared.data,
            self._shared.settings,
            misses=self._backend.misses,
            collection=self._backend.collection,
            rules=lambda: self._shared.rules.ruleset,
            topics=self._topics,
            warnings=warnings,
        )

    def _context(self) -> AdminContext:
        """What the admin UI may use."""
        shared, backend, watching = self._shared, self._backend, self._watching
        return AdminContext(
            data=shared.data,
            settings=lambda: shared.settings,
            misses=backend.misses,
            responses=shared.responses,
            collection=backend.collection,
            async_collection=backend.async_collection,
            repairer=backend.repairer,
            harvester=backend.harvester,
            mementos=backend.mementos,
            review=MissReview.over(backend.misses, shared.sites),
            pins=self._pins,
            hints=backend.hints,
            fetches=self._fetching.queue,
            remover=self._remover,
            rules=RuleEdits(shared.rules, shared.data / "rules-history", keep=shared.settings.rules.versions),
            health=HealthSources(
                snapshot=watching.snapshot,
                connectivity=watching.connectivity,
                problems=watching.problems,
                model=model_beside(shared.data / "collection"),
                workers=watching.processes,
                started_at=watching.started_at,
                data=shared.data,
                parent_fault=lambda: self._parent.fault,
                traffic=watching.traffic,
            ),
            missing_now=watching.missing_now,
            topics=self._topics,
            lessons=self._lessons,
            imports=self._imports,
            running=lambda: self.running(),
        )

    def _watch(self) -> None:
        """Have the gauges looked up where they are known."""
        self._watching.metrics.watch(
            queues={
                "harvest": lambda: self._backend.harvester.stats().waiting,
                "misses": lambda: self._backend.misses.waiting,
                "fetch": lambda: self._fetching.queue.counts().get(FetchState.WAITING, 0),
            },
            lost_records=lambda: self._backend.misses.lost,
            parent_down=lambda: int(bool(self._parent.fault)),
            collapsed_repairs=lambda: self._backend.repair_service.collapsed,
        )


def _open_topics(folder: Path) -> TopicDatabase | None:
    """The topics; None when the file is damaged: that must not keep the proxy from starting."""
    try:
        return TopicDatabase(folder)
    except TopicDatabaseError as error:
        log.error("%s", error)
        return None
