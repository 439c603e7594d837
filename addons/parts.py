"""Everything that is open while one worker of linkmend carries traffic, and the addons over it.

With one worker, that is all of linkmend; with several, what has one writer is in the office (addons/office.py), and
each worker has a line to it. Built once, closed in the right order.
"""

import asyncio
from pathlib import Path
from typing import Any

from addons.admin import Admin
from addons.bypass import Bypass
from addons.cache import Cache
from addons.clients import Clients
from addons.connections import Connections
from addons.deadlines import Deadlines
from addons.desk import DeskSide
from addons.detour import Arrival, Detour
from addons.failures import Failures
from addons.follow import Follow
from addons.harvest import Harvest
from addons.helper import Helper
from addons.identity import Identify
from addons.internals import install
from addons.metrics import Counting
from addons.office import Office
from addons.opened import Opened
from addons.parent import Parent
from addons.premises import Premises
from addons.quick import Asides, Quick
from addons.reach import Guard, Place
from addons.repair import Repair
from addons.rules import Held, Rules
from addons.slowclients import SlowClients
from addons.soft404 import Soft404
from addons.tunnels import Tunnels
from addons.underway import UnderWay
from addons.uploads import Uploads
from proxy.archives.own import OwnArchive
from proxy.cache.flights import Flights
from proxy.office.standins import DistantOffice
from proxy.portal.start import told_of
from proxy.readers.clients import ClientHasher
from proxy.readers.detour import Detours
from proxy.readers.serviceworkers import WorkerOrigins
from proxy.rules.domains import DomainList
from proxy.rules.model import NO_RULE
from proxy.rules.remembered import RememberedVerdicts
from proxy.settings import Settings, parent_address
from proxy.store.bodyserver import HOST as BODIES_HOST
from proxy.store.bodyserver import BodyServer
from proxy.store.changes import Changes
from proxy.trust.passthrough import passthrough_domains

CA_FILE = "mitmproxy-ca-cert.pem"


class Parts:
    """The stores of one data folder and the addons that use them, under one set of settings."""

    def __init__(
        self,
        settings: Settings,
        data: Path,
        *,
        office: DistantOffice | None = None,
        changes: Changes | None = None,
        detours: Detours | None = None,
        authority: Path | None = None,
    ) -> None:
        """Open everything; raises LinkmendError or RepairError when a store cannot be opened.

        `office`, `changes` and `detours` are what a worker shares with others; without them it is the only one.
        `authority` is the folder of mitmproxy's certificate authority, when it is not our own.
        """
        install()
        self._ca = (authority or data / "ca").expanduser() / CA_FILE
        self.premises = Premises(settings, data, changes=changes)
        self.office: Office | DistantOffice
        self.desk: DeskSide | None = None
        if office is None:
            self.office = Office(self.premises)
            self.desk = DeskSide(self.premises, self.office)
        else:
            self.office = office
        self._bodies = BodyServer()
        self._detours = detours or Detours()
        self._workers = WorkerOrigins(data / "readers" / "serviceworkers.sqlite")
        self.under_way = UnderWay()
        self._build()

    @property
    def settings(self) -> Settings:
        return self.premises.settings

    def _build(self) -> None:
        settings, premises, office = self.premises.settings, self.premises, self.office
        data, portal, offline = premises.data, premises.portal_reachable, premises.is_offline
        desk = self.desk if self.desk is not None else self._distant().desk
        hasher = self._hasher = ClientHasher(data / "client-salt")
        self._soft404 = Soft404(
            settings.soft404,
            premises.detector,
            hasher=hasher,
            withheld=office.withheld,
            redirects=office.redirects,
            offline=offline,
        )
        self._clients = Clients(settings.proxy)
        self._slow_clients = SlowClients(settings.proxy)
        desk.metrics.watch(open_connections=lambda: len(self._clients))
        self._counting = Counting(desk.metrics, desk.line)
        self._admin = Admin(lambda: desk.door_address, lambda: desk.door, portal=portal)
        self._verdicts = RememberedVerdicts(premises.rules)
        self._rules = Rules(self._verdicts, portal=portal)
        self._bypass = Bypass(
            settings.proxy, premises.rules, _passed_through(settings), spoke=self._slow_clients.leave_alone
        )
        self._guard = Guard(
            lambda: premises.reach,
            chosen=self._chosen_places,
            portal=portal,
            offline=offline,
        )
        self._repair = Repair(
            office.mender,
            office.reader,
            office.misses,
            deadline_s=settings.repair.deadline_s,
            visitors=office.visitors,
            hasher=hasher,
            offline=offline,
            portal=portal,
            withheld=office.withheld,
            archives=office.archives,
            rules=self._rules,
            detours=self._detours,
            sends_round=lambda: portal() and premises.settings.proxy.detour,
            workers=self._workers,
        )
        self._helper = Helper(
            office.searcher,
            office.reader,
            office.misses,
            own_archive=OwnArchive(office.reader, lambda: premises.settings.collection.share),
            ca=self._ca,
            told=lambda: told_of(premises.settings, self._bypass.passed_through.entries),
            deadline_s=settings.repair.deadline_s,
            portal=portal,
            hasher=hasher,
            show_anyway=self._soft404.show_anyway,
            archives=office.archives,
            detours=self._detours,
            show_missed=self._repair.show_missed,
        )
        self._cache = Cache(settings.cache, premises.responses, Flights(), self._bodies, offline=offline)
        self._quick = Quick(
            settings.cache,
            premises.responses,
            Asides(
                spoke=self._slow_clients.was_answered,
                opened=Opened(office.visitors, hasher),
                judges=self._soft404.judges,
                was_redirected=self._soft404.was_redirected,
                in_reach=self._guard.may_ask_for,
                may_answer=self._may_answer,
                answered=self._counting.quick_hit,
            ),
            offline=offline,
        )
        self._parent = Parent(settings.proxy)
        self._deadlines = Deadlines(settings.proxy)
        self._harvest = Harvest(
            settings.harvest,
            office.harvester,
            office.hints,
            visitors=office.visitors,
            hasher=hasher,
            max_bytes=settings.collection.max_document_bytes,
            harmless_fields=settings.cache.harmless_fields,
        )
        self._follow = Follow(office.visitors, hasher)

    def addons(self) -> list[Any]:
        """In the order that addons/__init__.py explains."""
        return [
            self._clients,
            self._slow_clients,
            self._bypass,
            Tunnels(self.premises.rules),
            Identify(),
            Connections(),
            Detour(self._detours, self._hasher),
            self._rules,
            Arrival(),
            Uploads(self.premises.is_offline),
            self._admin,
            self._helper,
            self._guard,
            self._cache,
            self._parent,
            self._deadlines,
            Failures(),
            Held(self._rules),
            self._soft404,
            self._quick,
            self._harvest,
            self._repair,
            self._follow,
            self._counting,
            self.under_way,
        ]

    def apply(self, settings: Settings) -> None:
        """Take over new settings while running. Sizes of stores and queues wait for the next start."""
        self.premises.apply(settings)
        self.office.apply(settings)
        if self.desk is not None:
            self.desk.apply(settings)
        self._clients.apply(settings.proxy)
        self._parent.settings = self._deadlines.settings = self._slow_clients.settings = settings.proxy
        self._cache.settings = self._quick.settings = settings.cache
        self._harvest.settings = settings.harvest
        self._soft404.settings = settings.soft404
        self._bypass.settings, self._bypass.passed_through = settings.proxy, _passed_through(settings)
        self._repair.deadline_s = self._helper.deadline_s = settings.repair.deadline_s

    async def start(self) -> None:
        self._guard.install(asyncio.get_running_loop())
        await self.premises.start()
        await self._bodies.start()
        self.premises.note_ports((self._bodies.port,), of="bodies")
        await self.office.start()
        if self.desk is not None:
            await self.desk.start()
        else:
            self._distant().desk.on_ports(self.premises.note_ports)

    def leave(self) -> None:
        """No more readers are taken; those there are will be answered."""
        if isinstance(self.office, DistantOffice):
            self.office.leave()

    async def close(self) -> None:
        """Write what waits and close every store; called once nothing is under way any more."""
        await self._admin.close()
        if self.desk is not None:
            await self.desk.stop()
        await self._bodies.stop()
        self._workers.close()
        await self.office.close()
        await self.premises.close()

    def _distant(self) -> DistantOffice:
        if not isinstance(self.office, DistantOffice):
            raise TypeError("the office is in this process")
        return self.office

    def _may_answer(self, url: str, address: str, content_type: str) -> bool:
        """Whether neither a rule nor a note on arrival has to do with a request and its answer."""
        visitors = self.office.visitors
        if self._verdicts and self._verdicts.on_held(url, address, content_type) is not NO_RULE:
            return False
        return not visitors.expects_anybody() or not visitors.expects(self._hasher.hash(address))

    def _chosen_places(self) -> tuple[Place, ...]:
        """What requests are pointed at by us, and nobody else may ask for: the body server and the parent."""
        parent = self.settings.proxy.parent
        bodies = (BODIES_HOST, self._bodies.port)
        return (bodies, parent_address(parent)) if parent else (bodies,)


def _passed_through(settings: Settings) -> DomainList:
    return DomainList(passthrough_domains(settings.proxy))
