"""What a worker holds: the stores that it needs itself, the backend or a client of it, and the addons over them.

Built once, closed in the right order.
"""

import asyncio
from pathlib import Path
from typing import Any

from addons import default_addons
from addons.access import AccessControl
from addons.admin import AdminGateway
from addons.autoredirect import AutoRedirectNote
from addons.bypass import Bypass
from addons.cache import Cache
from addons.connections import PersonalConnections
from addons.deadlines import Deadlines
from addons.deadmedia import DeadMedia
from addons.failures import Failures
from addons.fastpath import FastPath, FastPathListeners
from addons.harvest import Harvest
from addons.identity import Identify
from addons.inflight import InFlight
from addons.metrics import RequestMetrics
from addons.mitm import install
from addons.nextproxy import LoopCheck, NextProxy
from addons.portal import Portal
from addons.portalredirect import PortalRedirectMark, PortalReturn
from addons.repair import Repair
from addons.rules import Rules, RulesForStored
from addons.slowclients import SlowClients
from addons.soft404 import Soft404
from addons.ssrfguard import Place, SsrfGuard
from addons.tunnels import Tunnels
from addons.uploads import Uploads
from addons.upstream import Upstream
from proxy.app.admin import AdminServices
from proxy.app.backend import Backend
from proxy.app.backendclient import BackendClient
from proxy.app.rundir import RuntimeDirectory
from proxy.app.sharedstate import SharedState
from proxy.archives.ownarchive import OwnArchive
from proxy.cache.collapsing import RequestCollapser
from proxy.cache.leases import FetchLeases
from proxy.networknames import parse_network_names
from proxy.pages.startpage import portal_info_of
from proxy.portal.linkmarking import LinkMarker
from proxy.privacy.clients import ClientHasher
from proxy.privacy.pagevisits import PageVisits
from proxy.privacy.portalredirect import PortalRedirects
from proxy.privacy.serviceworkers import ServiceWorkerOrigins
from proxy.reach.loops import LoopMarks
from proxy.reach.passthrough import passthrough_domains
from proxy.rules.domains import DomainList
from proxy.rules.model import NO_RULE
from proxy.rules.verdictcache import VerdictCache
from proxy.settings import Settings, parent_address
from proxy.store.bodyserver import HOST as BODIES_HOST
from proxy.store.bodyserver import BodyServer
from proxy.store.invalidation import StoreInvalidation

CA_FILE = "mitmproxy-ca-cert.pem"


class WorkerContainer:
    """The addons and everything they use, under one set of settings."""

    def __init__(
        self,
        settings: Settings,
        data: Path,
        *,
        backend: BackendClient | None = None,
        changes: StoreInvalidation | None = None,
        leases: FetchLeases | None = None,
        portal_redirects: PortalRedirects | None = None,
        authority: Path | None = None,
    ) -> None:
        """Open everything; raises LinkmendError or RepairError when a store cannot be opened.

        `backend`, `changes`, `leases` and `portal_redirects` are what a worker shares with others; without `backend`
        all of linkmend is in this process.
        `authority` is the folder of mitmproxy's certificate authority, when it is not our own.
        """
        install()
        self._ca = (authority or data / "ca").expanduser() / CA_FILE
        self.shared = SharedState(settings, data, changes=changes)
        self._run = RuntimeDirectory() if backend is None else None
        self.backend: Backend | BackendClient
        if self._run is not None:
            self.backend = Backend(self.shared, self._run.admin)
        elif backend is not None:
            self.backend = backend
        self._bodies = BodyServer()
        self._collapser = RequestCollapser(leases)
        self._portal_redirects = portal_redirects or PortalRedirects()
        self._workers = ServiceWorkerOrigins(data / "readers" / "serviceworkers.sqlite")
        self._in_flight = InFlight()
        self._build()

    @property
    def settings(self) -> Settings:
        return self.shared.settings

    @property
    def admin(self) -> AdminServices | None:
        """The admin UI, if it is in this process."""
        return self.backend.admin if isinstance(self.backend, Backend) else None

    def _build(self) -> None:
        settings, shared, backend = self.shared.settings, self.shared, self.backend
        data, portal, offline, clients = (
            shared.data,
            shared.portal_reachable,
            shared.is_offline,
            backend.clients,
        )
        hasher = self._hasher = ClientHasher(data / "client-salt")
        self._soft404 = Soft404(
            settings.soft404,
            shared.detector,
            hasher=hasher,
            suppressed=clients.suppressed,
            redirects=clients.redirects,
            offline=offline,
        )
        self._access = AccessControl(settings.proxy)
        self._slow_clients = SlowClients(settings.proxy)
        backend.metrics.watch(open_connections=lambda: len(self._access))
        self._request_metrics = RequestMetrics(backend.metrics, backend.internet, hasher=hasher)
        self._admin = AdminGateway(backend.admin_socket, portal=portal)
        self._verdicts = VerdictCache(shared.rules)
        self._rules = Rules(self._verdicts, portal=portal)
        self._bypass = Bypass(
            settings.proxy, shared.rules, _passed_through(settings), spoke=self._slow_clients.leave_alone
        )
        self._guard = SsrfGuard(
            lambda: shared.reach,
            chosen=self._chosen_places,
            portal=portal,
            offline=offline,
        )
        marker = LinkMarker(
            backend.link_judge,
            enabled=lambda: shared.settings.portal.mark_links,
            offline=offline,
            count=backend.metrics.count_portal,
        )
        self._repair = Repair(
            backend.repair_service,
            backend.async_collection,
            backend.misses,
            deadline_s=settings.repair.deadline_s,
            recent_pages=clients.recent_pages,
            hasher=hasher,
            offline=offline,
            portal=portal,
            suppressed=clients.suppressed,
            archives=backend.archives,
            rules=self._rules,
            portal_redirects=self._portal_redirects,
            use_portal_redirect=lambda: portal() and shared.settings.proxy.detour,
            workers=self._workers,
            marker=marker,
            ask_archives=settings.archives.enabled,
            search_template=settings.repair.search_template,
            network_names=parse_network_names("misses.networks", settings.misses.networks),
        )
        self._portal = Portal(
            backend.browser,
            marker,
            backend.async_collection,
            backend.misses,
            own_archive=OwnArchive(backend.async_collection, lambda: shared.settings.collection.share),
            ca=self._ca,
            metrics=backend.metrics,
            portal_info=lambda: portal_info_of(shared.settings, self._bypass.passed_through.entries),
            deadline_s=settings.repair.deadline_s,
            portal=portal,
            hasher=hasher,
            show_anyway=self._soft404.show_anyway,
            archives=backend.archives,
            portal_redirects=self._portal_redirects,
            show_missed=self._repair.show_missed,
            suggestions=backend.suggestions,
            repairs=backend.repair_service,
        )
        self._cache = Cache(settings.cache, shared.responses, self._collapser, self._bodies, offline=offline)
        self._fast_path = FastPath(
            settings.cache,
            shared.responses,
            FastPathListeners(
                spoke=self._slow_clients.was_answered,
                opened=PageVisits(clients.recent_pages, hasher),
                judges=self._soft404.judges,
                was_redirected=self._soft404.was_redirected,
                in_reach=self._guard.may_ask_for,
                may_answer=self._may_answer,
                answered=self._request_metrics.quick_hit,
            ),
            offline=offline,
        )
        self._upstream = Upstream(settings.proxy)
        self._deadlines = Deadlines(settings.proxy)
        self._harvest = Harvest(
            settings.harvest,
            backend.harvest,
            recent_pages=clients.recent_pages,
            hasher=hasher,
            max_bytes=settings.collection.max_document_bytes,
            harmless_fields=settings.cache.harmless_fields,
        )
        self._dead_media = DeadMedia(backend.misses, clients.recent_pages, hasher)
        self._auto_redirect = AutoRedirectNote(clients.recent_pages, hasher)
        self._marks = LoopMarks(hasher.hash)
        self._next_proxy = NextProxy(self._marks, settings.cache)

    def addons(self) -> list[Any]:
        """All of them, in the order of `addons.ORDER`."""
        built = [
            self._access,
            self._slow_clients,
            self._bypass,
            Tunnels(self.shared.rules),
            Identify(verifies=lambda: self.settings.proxy.verify_origins),
            LoopCheck(self._marks),
            PersonalConnections(),
            PortalRedirectMark(self._portal_redirects, self._hasher),
            self._rules,
            PortalReturn(),
            Uploads(self.shared.is_offline),
            self._admin,
            self._portal,
            self._guard,
            self._cache,
            self._upstream,
            self._next_proxy,
            self._deadlines,
            Failures(self.shared.portal_reachable),
            RulesForStored(self._rules),
            self._soft404,
            self._fast_path,
            self._harvest,
            self._repair,
            self._dead_media,
            self._auto_redirect,
            self._request_metrics,
            self._in_flight,
        ]
        return default_addons(built)

    def apply(self, settings: Settings) -> None:
        """Take over new settings while running. Sizes of stores and queues wait for the next start."""
        self.shared.apply(settings)
        self.backend.apply(settings)
        self._access.apply(settings.proxy)
        self._upstream.settings = self._deadlines.settings = self._slow_clients.settings = settings.proxy
        self._cache.settings = self._fast_path.settings = self._next_proxy.settings = settings.cache
        self._harvest.settings = settings.harvest
        self._soft404.settings = settings.soft404
        self._bypass.settings, self._bypass.passed_through = settings.proxy, _passed_through(settings)
        self._repair.deadline_s = self._portal.deadline_s = settings.repair.deadline_s
        self._repair.ask_archives = settings.archives.enabled
        self._repair.search_template = settings.repair.search_template
        self._repair.network_names = parse_network_names("misses.networks", settings.misses.networks)

    async def start(self) -> None:
        self._guard.install(asyncio.get_running_loop())
        await self.shared.start()
        await self._bodies.start()
        self.shared.note_ports((self._bodies.port,), of="bodies")
        await self.backend.start()
        if isinstance(self.backend, BackendClient):
            self.backend.on_ports(self.shared.note_ports)

    def in_flight(self) -> int:
        """How many requests have no whole answer yet."""
        return len(self._in_flight) + self._fast_path.reading

    def leave(self) -> None:
        """No more clients are accepted; requests in flight will be answered."""
        if isinstance(self.backend, BackendClient):
            self.backend.leave()

    async def close(self) -> None:
        """Write what waits and close every store; called once nothing is in flight any more."""
        await self._admin.close()
        await self._bodies.stop()
        self._workers.close()
        await self.backend.close()
        await self.shared.close()
        if self._run is not None:
            self._run.remove()

    def _may_answer(self, url: str, address: str, content_type: str) -> bool:
        """Whether no rule and no auto-redirect note applies to a request and its answer."""
        recent_pages = self.backend.clients.recent_pages
        if self._verdicts and self._verdicts.on_stored(url, address, content_type) is not NO_RULE:
            return False
        return not recent_pages.expects_arrivals() or not recent_pages.expects(self._hasher.hash(address))

    def _chosen_places(self) -> tuple[Place, ...]:
        """Where only we may send requests, and clients may not: the body server and the parent."""
        parent = self.settings.proxy.parent
        bodies = (BODIES_HOST, self._bodies.port)
        return (bodies, parent_address(parent)) if parent else (bodies,)


def _passed_through(settings: Settings) -> DomainList:
    return DomainList(passthrough_domains(settings.proxy))
