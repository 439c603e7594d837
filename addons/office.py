"""The stores that have one writer, and all that works on them: in linkmend's only process, or in the office's."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

from addons.archives import Archives, ArchivesShown
from addons.premises import Premises
from proxy.archives.client import RememberedCopies, client_from
from proxy.mending import Mender
from proxy.misses.store import MissStore, OfferClick
from proxy.readers.visitors import Visitors
from proxy.readers.withheld import WithheldPages
from proxy.settings import Settings
from proxy.watching.overview import Watching
from repair.collection import Collection
from repair.harvest import Harvester
from repair.hints import Hints
from repair.moves import Move
from repair.newversion import NewVersion
from repair.pipeline import Repairer
from repair.reader import Reader
from repair.soft404.redirects import RecentRedirects
from repair.sources.archive import ArchivedCopy
from repair.turns import TakingTurns, Turns
from repair.versions import HeldVersions

_REPAIR_THREADS = (
    1  # a second one makes no more repairs a minute, and keeps the readers' core busy with its waiting
)
_ABREAST = 2  # while one page is ranked, what archives have is looked up for another, or it is drawn
_LOOKING_THREADS = 2  # of their own: who wants to see a copy does not wait behind those who miss a page


class Office:
    """Collection, hints, miss log and archives of one data folder, under one set of settings."""

    def __init__(self, premises: Premises, *, process: str = "proxy") -> None:
        """Open everything, in the process of this name; raises LinkmendError or RepairError when that cannot be."""
        self._premises = premises
        settings, data = premises.settings, premises.data
        self._threads = ThreadPoolExecutor(_REPAIR_THREADS, thread_name_prefix="repair")
        self._looking = ThreadPoolExecutor(_LOOKING_THREADS, thread_name_prefix="look")
        self.watching = Watching(process)
        self.collection = Collection.open(data / "collection", settings.collection)
        self.hints = Hints(self.collection, settings.repair)
        self._turns = Turns(at_once=settings.repair.at_once, abreast=_ABREAST)
        self.harvester = Harvester(
            self.collection, settings.collection, self.hints, is_hurried=lambda: self._turns.under_way > 0
        )
        self.mementos = client_from(settings, data, on_move=self._note_move, may_connect=premises.may_connect)
        self.mementos.offline = settings.proxy.offline  # a rule may ask archives that are else left alone
        self.misses = MissStore(
            data / "misses",
            settings.misses,
            on_choice=self._note_choice,
            on_record=self.watching.note_miss,
        )
        self.visitors = Visitors()
        self.withheld = WithheldPages()
        self.redirects = RecentRedirects()
        self.reader = Reader(self.collection, self._looking)
        self._build()

    def _build(self) -> None:
        settings = self._premises.settings
        copies = RememberedCopies(self.mementos)
        archived = ArchivedCopy(copies, self.collection, stop_titles=settings.repair.stop_titles)
        repairer = Repairer(
            self.collection, settings.repair, self._threads, hints=self.hints, further_sources=(archived,)
        )
        self.repairer = self.searcher = TakingTurns(repairer, self.reader, self._turns)
        self.archives = Archives(
            self.mementos,
            copies,
            NewVersion(self.collection, settings.repair, self.hints),
            self._threads,
            ArchivesShown(
                portal=self._premises.portal_reachable,
                versions=self._readable_versions,
                search=repairer.search,
                search_template=settings.repair.search_template,
            ),
            asked=settings.archives.enabled,
        )
        self.mender = Mender(repairer, self.reader, self._turns, self.archives, self._looking)

    def apply(self, settings: Settings) -> None:
        """Take over new settings while running. Sizes of stores and queues wait for the next start."""
        self.mementos.offline = settings.proxy.offline
        self.archives.asked = settings.archives.enabled
        self.archives.shown = replace(self.archives.shown, search_template=settings.repair.search_template)

    async def start(self) -> None:
        await self.mementos.__aenter__()

    async def close(self) -> None:
        """Write what waits and close every store; called once nothing is under way any more."""
        await self.archives.close()
        await self.mementos.__aexit__(None, None, None)  # what it still tells of goes to the harvester
        await asyncio.to_thread(self._close_stores)

    def _close_stores(self) -> None:
        self.misses.close()  # what it still tells of goes to the harvester
        self.harvester.close()
        for threads in (self._threads, self._looking):
            threads.shutdown(wait=True, cancel_futures=True)
        self.collection.close()

    def _note_choice(self, click: OfferClick) -> None:
        noted = partial(self.hints.note_choice, click.url, click.chosen, click.at)
        self.harvester.later(partial(noted, network=click.network, unfit=click.unfit))

    def _note_move(self, move: Move) -> None:
        self.harvester.later(partial(self.hints.note_redirect, move.old, move.new))

    async def _readable_versions(self, url: str) -> HeldVersions | None:
        return await self.reader.versions(url) if self._premises.settings.collection.share != "off" else None
