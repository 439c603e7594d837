"""Everything that is open while linkmend runs, and the addons over it: built once, closed in the right order."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from addons.archives import Archives, ArchivesShown
from addons.cache import Cache
from addons.clients import Clients
from addons.deadlines import Deadlines
from addons.failures import Failures
from addons.harvest import Harvest
from addons.helper import Helper
from addons.internals import install
from addons.parent import Parent
from addons.repair import Repair
from addons.soft404 import Soft404
from addons.underway import UnderWay
from addons.uploads import Uploads
from proxy.archives import RememberedCopies, client_from
from proxy.cache.flights import Flights
from proxy.clients import ClientHasher
from proxy.misses import MissStore
from proxy.ownarchive import OwnArchive
from proxy.settings import Settings
from proxy.store.bodyserver import BodyServer
from proxy.store.responses import ResponseStore
from proxy.trust import origin_context
from proxy.visitors import Visitors
from proxy.withheld import WithheldPages
from repair.collection import Collection
from repair.harvest import Harvester
from repair.hints import Hints
from repair.moves import Move
from repair.newversion import NewVersion
from repair.pipeline import Repairer
from repair.reader import Reader
from repair.soft404.ask import Asker
from repair.soft404.detector import Detector
from repair.soft404.sites import Sites
from repair.sources.archive import ArchivedCopy
from repair.versions import HeldVersions

CA_FILE = "mitmproxy-ca-cert.pem"
_REPAIR_THREADS = 4
_JUDGING_THREADS = 2  # of their own: who opens a page that is there does not wait behind those who miss one


class Parts:
    """The stores of one data folder and the addons that use them, under one set of settings."""

    def __init__(self, settings: Settings, data: Path) -> None:
        """Open everything; raises LinkmendError or RepairError when a store cannot be opened."""
        install()
        self.settings = settings
        self._threads = ThreadPoolExecutor(_REPAIR_THREADS, thread_name_prefix="repair")
        self._judging = ThreadPoolExecutor(_JUDGING_THREADS, thread_name_prefix="soft404")
        self.responses = ResponseStore.open(data / "cache", settings.cache)
        self.collection = Collection.open(data / "collection", settings.collection)
        self.sites = Sites(data / "soft404" / "sites.sqlite")
        self._asker = Asker(parent=settings.proxy.parent, tls=origin_context(settings.proxy))
        self.hints = Hints(self.collection, settings.repair)
        self.harvester = Harvester(self.collection, settings.collection, self.hints)
        self.mementos = client_from(settings, data, on_move=self._note_move)
        self.misses = MissStore(data / "misses", settings.misses, on_choice=self._note_choice)
        self._bodies = BodyServer()
        self.under_way = UnderWay()
        self._build(data)

    def _build(self, data: Path) -> None:
        settings = self.settings
        visitors = Visitors()
        hasher = ClientHasher(data / "client-salt")
        reader = Reader(self.collection, self._threads)
        copies = RememberedCopies(self.mementos)
        archived = ArchivedCopy(copies, self.collection, stop_titles=settings.repair.stop_titles)
        repairer = Repairer(
            self.collection, settings.repair, self._threads, hints=self.hints, further_sources=(archived,)
        )
        self._archives = Archives(
            self.mementos,
            copies,
            NewVersion(self.collection, settings.repair, self.hints),
            self._threads,
            ArchivesShown(
                portal=self._portal_reachable,
                versions=partial(self._readable_versions, reader),
                search=repairer.search,
                search_template=settings.repair.search_template,
            ),
        )
        withheld = WithheldPages()
        self._soft404 = Soft404(
            settings.soft404,
            Detector(self.sites, self._judging, ask=self._asker.ask, may_probe=self._may_probe),
            hasher=hasher,
            withheld=withheld,
            offline=lambda: self.settings.proxy.offline,
        )
        self._clients = Clients(settings.proxy)
        self._helper = Helper(
            repairer,
            reader,
            self.misses,
            own_archive=OwnArchive(reader, lambda: self.settings.collection.share),
            ca=data / "ca" / CA_FILE,
            retention_days=settings.misses.retention_days,
            deadline_s=settings.repair.deadline_s,
            portal=self._portal_reachable,
            hasher=hasher,
            show_anyway=self._soft404.show_anyway,
            archives=self._archives,
        )
        self._cache = Cache(
            settings.cache,
            self.responses,
            Flights(),
            self._bodies,
            offline=lambda: self.settings.proxy.offline,
        )
        self._parent = Parent(settings.proxy)
        self._deadlines = Deadlines(settings.proxy)
        self._harvest = Harvest(
            settings.harvest,
            self.harvester,
            self.hints,
            visitors=visitors,
            hasher=hasher,
            max_bytes=settings.collection.max_document_bytes,
        )
        self._repair = Repair(
            repairer,
            reader,
            self.misses,
            deadline_s=settings.repair.deadline_s,
            visitors=visitors,
            hasher=hasher,
            offline=lambda: self.settings.proxy.offline,
            portal=self._portal_reachable,
            withheld=withheld,
            archives=self._archives,
        )

    def addons(self) -> list[Any]:
        """In the order that addons/__init__.py explains."""
        return [
            self._clients,
            self.under_way,
            Uploads(lambda: self.settings.proxy.offline),
            self._helper,
            self._cache,
            self._parent,
            self._deadlines,
            Failures(),
            self._soft404,
            self._harvest,
            self._repair,
        ]

    def apply(self, settings: Settings) -> None:
        """Take over new settings while running. Sizes of stores and queues wait for the next start."""
        self.settings = settings
        self._clients.apply(settings.proxy)
        self._parent.settings = self._deadlines.settings = settings.proxy
        self._cache.settings = settings.cache
        self._harvest.settings = settings.harvest
        self._soft404.settings = settings.soft404
        self._asker.parent = settings.proxy.parent
        self.mementos.offline = settings.proxy.offline or not settings.archives.enabled
        self._archives.shown = replace(self._archives.shown, search_template=settings.repair.search_template)
        self._repair.deadline_s = self._helper.deadline_s = settings.repair.deadline_s
        self._helper.retention_days = settings.misses.retention_days

    async def start(self) -> None:
        await self._bodies.start()
        await self._asker.start()
        await self.mementos.__aenter__()

    async def close(self) -> None:
        """Write what waits and close every store; called once nothing is under way any more."""
        await self._bodies.stop()
        await self._soft404.done()
        await self._asker.close()
        await self._archives.close()
        await self.mementos.__aexit__(None, None, None)  # what it still tells of goes to the harvester
        await self.responses.close()
        await asyncio.to_thread(self._close_stores)

    def _close_stores(self) -> None:
        self.misses.close()  # what it still tells of goes to the harvester
        self.harvester.close()
        for threads in (self._threads, self._judging):
            threads.shutdown(wait=True, cancel_futures=True)
        self.collection.close()
        self.sites.close()

    def _note_choice(self, url: str, chosen: str, at: datetime) -> None:
        self.harvester.later(partial(self.hints.note_choice, url, chosen, at))

    async def _readable_versions(self, reader: Reader, url: str) -> HeldVersions | None:
        return await reader.versions(url) if self.settings.collection.share != "off" else None

    def _note_move(self, move: Move) -> None:
        self.harvester.later(partial(self.hints.note_redirect, move.old, move.new))

    def _may_probe(self, url: str) -> bool:
        """Whether a site may be asked about a page in doubt; rules of the admin will have their say here."""
        proxy = self.settings.proxy
        # An upstream proxy is mitmproxy's own business: asking past it might not reach the site, nor be wanted.
        return (
            self.settings.soft404.probe == "auto"
            and not proxy.offline
            and not proxy.mode.startswith("upstream")
        )

    def _portal_reachable(self) -> bool:
        """Where browsers do not know of the proxy, http://linkmend.internal/ leads nowhere."""
        return self.settings.proxy.mode.split(":")[0].split("@")[0] in ("regular", "upstream")
