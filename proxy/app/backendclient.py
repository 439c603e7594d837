"""The backend as a worker sees it from another process: the same attributes as `proxy.app.backend.Backend`."""

import asyncio
import logging
import os
from collections.abc import Callable, Collection
from pathlib import Path

from proxy.app.clientstate import SharedClientState
from proxy.monitoring.metrics import Metrics
from proxy.monitoring.recentproblems import RecentProblems
from proxy.rpc.client import RpcClient
from proxy.rpc.protocol import (
    ArchiveService,
    BrowseService,
    ClientEvents,
    CollectionService,
    HarvestService,
    LinkMarkService,
    MissLogService,
    MonitoringService,
    ReadershipService,
    RepairService,
    SuggestionService,
)
from proxy.rpc.wire import Welcome
from proxy.settings import Settings

_FIRST_S = 10.0
_INTERNET_S = 10.0
_METRICS_S = 1.0


class BackendClient:
    """Stubs of all services, what this worker knows of clients, and what it counts and reports."""

    def __init__(self, rpc_socket: Path, admin_socket: Path, *, name: str = "worker") -> None:
        self._name = name
        self._rpc = RpcClient(rpc_socket, on_welcome=self._note_ports)
        self.browser = self._rpc.stub(BrowseService)
        self.link_judge = self._rpc.stub(LinkMarkService)
        self.repair_service = self._rpc.stub(RepairService)
        self.async_collection = self._rpc.stub(CollectionService)
        self.misses = self._rpc.stub(MissLogService)
        self.suggestions = self._rpc.stub(SuggestionService)
        self.harvest = self._rpc.stub(HarvestService)
        self.archives = self._rpc.stub(ArchiveService)
        self.clients = SharedClientState(self._rpc.stub(ClientEvents), self._rpc.stub(ReadershipService))
        self._rpc.receive(ClientEvents, self.clients)
        self._monitoring = self._rpc.stub(MonitoringService)
        self.internet = InternetReporter(self._monitoring)
        self.metrics = Metrics()
        self.admin_socket = admin_socket
        self._problems = RecentProblems()
        self._reporting: asyncio.Task[None] | None = None
        self._ports: frozenset[int] = frozenset()
        self._on_ports: Callable[[Collection[int]], None] = lambda ports: None

    def on_ports(self, hear: Callable[[Collection[int]], None]) -> None:
        """Have somebody know, now and later, on which ports the backend listens."""
        self._on_ports = hear
        hear(self._ports)

    def apply(self, settings: Settings) -> None:
        """Logging was set up anew, which removes all handlers."""
        self._listen_to_log()

    async def start(self) -> None:
        """Wait for the backend for a while; without it pages are served all the same."""
        self._listen_to_log()
        await self._rpc.start(wait_s=_FIRST_S)
        self._reporting = asyncio.create_task(self._report_metrics())

    def leave(self) -> None:
        """Tell the backend that this worker accepts no more clients."""
        self._rpc.leave()

    async def close(self) -> None:
        """Send what waits."""
        if self._reporting is not None:
            self._reporting.cancel()
        logging.getLogger().removeHandler(self._problems)
        self._report()
        await self._rpc.close()

    def _note_ports(self, welcome: Welcome) -> None:
        self._ports = frozenset(welcome.ports)
        self._on_ports(self._ports)

    def _listen_to_log(self) -> None:
        logging.getLogger().addHandler(self._problems)

    async def _report_metrics(self) -> None:
        while True:
            await asyncio.sleep(_METRICS_S)
            self._report()

    def _report(self) -> None:
        if self._rpc.is_connected:
            self._monitoring.report_metrics(
                self._name, os.getpid(), self.metrics.snapshot(), self._problems.take()
            )


class InternetReporter:
    """Tells the backend whether sites answer, a few times a minute at most."""

    def __init__(self, monitoring: MonitoringService) -> None:
        self._monitoring = monitoring
        self._answered: bool | None = None
        self._reported_at = float("-inf")

    def note_answer(self, now: float) -> None:
        """A site answered, whatever it said."""
        self._report(now, answered=True)

    def note_silence(self, now: float) -> None:
        """No site answered."""
        self._report(now, answered=False)

    def _report(self, now: float, *, answered: bool) -> None:
        if answered != self._answered or now - self._reported_at >= _INTERNET_S:
            self._answered, self._reported_at = answered, now
            self._monitoring.report_internet(now, answered)
