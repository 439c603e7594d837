"""What an admin has beside the proxy: the desk, the port for figures, the fetch queue and the removal of pages.

It lives where the stores are: in linkmend's only process, or in the office's.
"""

import logging
from collections.abc import Callable

from addons.office import Office
from addons.premises import Premises
from proxy.desk.door import Door
from proxy.desk.frame import Desk
from proxy.desk.health import HealthSources, model_beside
from proxy.desk.server import DeskServer, Listener
from proxy.fetching.entries import State
from proxy.fetching.keeping import Keeper
from proxy.fetching.line import Line
from proxy.fetching.rulings import Rulings
from proxy.fetching.service import Fetching
from proxy.removal.orders import RemovalOrders
from proxy.removal.removing import Remover
from proxy.review.review import Review
from proxy.rules.history import RuleEdits
from proxy.settings import Settings, split_address
from proxy.trust.certificates import origin_context
from proxy.watching.metrics import Metrics
from proxy.watching.probes import create_app
from repair.pins import Pins


class DeskSide:
    """Started and stopped with the proxy; what cannot listen costs nobody the web."""

    def __init__(self, premises: Premises, office: Office) -> None:
        """Raises StoreError when the fetch queue cannot be opened."""
        self._premises = premises
        self._office = office
        self._watching = office.watching
        self._pins = Pins(office.collection.database)
        self._fetching = Fetching(
            premises.data / "fetch",
            self._keeper,
            office.watching.line,
            settings=lambda: premises.settings,
            reach=lambda: premises.reach,
            tls=origin_context(premises.settings.proxy),
        )
        self._remover = self._made_remover()
        self._removals = RemovalOrders(premises.data / "removals")
        self._server = DeskServer(self._desk())
        self.unready: Callable[[], str] = lambda: "not listening yet"
        """Why readers are not served at this moment; set by whoever runs the proxy."""
        self._probes = Listener(
            create_app(self._watching.snapshot, lambda: self.unready()), what="port for figures"
        )
        self.metrics_address = ""
        self.ports: frozenset[int] = frozenset()
        """Where it listens on this machine."""
        self._watch()

    @property
    def address(self) -> str:
        """Where the desk listens; empty while it does not."""
        return self._server.address

    @property
    def door_address(self) -> str:
        """Where it answers those who come through the proxy."""
        return self._server.door_address

    @property
    def door(self) -> Door:
        return self._server.door

    @property
    def metrics(self) -> Metrics:
        return self._watching.metrics

    @property
    def line(self) -> Line:
        return self._watching.line

    def apply(self, settings: Settings) -> None:
        """Logging was set up anew, which sends all listeners away."""
        self._listen_to_log()

    async def start(self) -> None:
        self._listen_to_log()
        await self._fetching.start()
        await self._removals.start(self._remover)
        await self._server.start()
        metrics = self._premises.settings.metrics
        if metrics.enabled:
            self.metrics_address = await self._probes.listen(metrics.listen)
        listening = (self.address, self.door_address, self.metrics_address)
        self.ports = frozenset(split_address(address)[1] for address in listening if address)
        self._premises.note_ports(self.ports)

    async def stop(self) -> None:
        self._watching.missing_now.close()
        await self._server.stop()
        await self._probes.stop()
        await self._removals.close()
        await self._fetching.close()
        logging.getLogger().removeHandler(self._watching.problems)

    def told(self) -> str:
        """What an admin is told on the terminal, line by line."""
        places = (("desk", self.address), ("metrics", self.metrics_address))
        return "".join(f"linkmend {name} on http://{place}\n" for name, place in places if place)

    def _listen_to_log(self) -> None:
        logging.getLogger().addHandler(self._watching.problems)

    def _keeper(self, max_bytes: Callable[[], int]) -> Keeper:
        return Keeper(
            responses=self._premises.responses,
            collection=self._office.collection,
            harvester=self._office.harvester,
            hints=self._office.hints,
            detector=self._premises.detector,
            settings=self._premises.settings.collection,
            max_bytes=max_bytes,
            rulings=Rulings(lambda: self._premises.rules.book),
        )

    def _made_remover(self) -> Remover:
        office = self._office
        return Remover(
            self._premises.data,
            responses=self._premises.responses,
            collection=office.collection,
            hints=office.hints,
            pins=self._pins,
            misses=office.misses,
            fetches=self._fetching.queue,
            mementos=office.mementos,
            harvester=office.harvester,
            missing_now=self._watching.missing_now,
        )

    def _desk(self) -> Desk:
        """What the desk may use."""
        premises, office, watching = self._premises, self._office, self._watching
        return Desk(
            data=premises.data,
            settings=lambda: premises.settings,
            misses=office.misses,
            responses=premises.responses,
            collection=office.collection,
            reader=office.reader,
            repairer=office.repairer,
            harvester=office.harvester,
            mementos=office.mementos,
            review=Review.over(office.misses, premises.sites),
            pins=self._pins,
            hints=office.hints,
            fetches=self._fetching.queue,
            remover=self._remover,
            rules=RuleEdits(
                premises.rules, premises.data / "rules-history", keep=premises.settings.rules.versions
            ),
            health=HealthSources(
                snapshot=watching.snapshot,
                line=watching.line,
                problems=watching.problems,
                model=model_beside(premises.data / "collection"),
                workers=watching.processes,
                started_at=watching.started_at,
                data=premises.data,
            ),
            missing_now=watching.missing_now,
        )

    def _watch(self) -> None:
        """Where the figures are that nobody counts."""
        self._watching.metrics.watch(
            queues={
                "harvest": lambda: self._office.harvester.stats().waiting,
                "misses": lambda: self._office.misses.waiting,
                "fetch": lambda: self._fetching.queue.counts().get(State.WAITING, 0),
            },
            lost_records=lambda: self._office.misses.lost,
        )
