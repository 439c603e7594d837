"""The two ways in which `linkmend serve` runs.

A supervisor with child processes, wherever the system can fork:

    supervisor   holds the listening sockets, starts and replaces the others, prints that all is ready
    backend      holds the stores that have one writer, ranks, parses pages, asks archives; at lower priority
    worker       mitmproxy, the cache and an RPC client; one or more

Everything in one process, elsewhere (and in `mitmdump -s`, and in tests). One worker has a backend process beside it
too: ranking holds Python's lock for milliseconds at a time, and pages would wait for it.
"""

import asyncio
import contextlib
import gc
import logging
import os
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from addons.mitm.listening import ListenSocket, accept_from, listen_address, open_listen_socket
from addons.mitm.master import mode_at
from proxy import logs
from proxy.app.backend import Backend
from proxy.app.backendclient import BackendClient
from proxy.app.rundir import RuntimeDirectory
from proxy.app.serving import carry_traffic
from proxy.app.sharedstate import SharedState
from proxy.app.supervisor import (
    HEARTBEAT_S,
    ChildContext,
    ProcessSpec,
    StopRequested,
    Supervisor,
    is_supported,
)
from proxy.app.worker import WorkerContainer
from proxy.cache.leases import LeaseTable, WorkerLeases
from proxy.errors import LinkmendError, StartError
from proxy.eventloops import end_quietly
from proxy.privacy.portalredirect import PortalRedirects
from proxy.reach.passthrough import passthrough_domains
from proxy.rpc.server import RpcServer
from proxy.runningmark import RunningMark, read_mark
from proxy.settings import ProxySettings, Settings
from proxy.store.invalidation import SharedInvalidation
from proxy.store.reserve import DiskReserve
from proxy.tls.certificates import origin_context
from repair.text.urls import known_suffixes

log = logging.getLogger(__name__)

_MOST_WORKERS = 4  # by default: each takes some 60 MB of its own, and one carries hundreds of clients
_BACKEND_NICE = 10  # ordinary pages go before pages that have to be repaired
_CHECK_DISK_S = 5.0

ReadSettings = Callable[[], Settings]


def serve(settings: Settings, data: Path, read_settings: ReadSettings, config: Path | None = None) -> None:
    """Run the proxy until SIGTERM or SIGINT. Raises LinkmendError when it cannot start.

    `config` is the file that `read_settings` reads, if there is one.
    """
    if is_supported():
        _serve_supervised(settings, data, read_settings, RunningMark(data, config))
    else:
        log.info("this system cannot fork: everything runs in one process")
        asyncio.run(_serve_in_one_process(settings, data, read_settings))


def _serve_supervised(settings: Settings, data: Path, read_settings: ReadSettings, mark: RunningMark) -> None:
    logs.set_up(settings.log, process="supervisor")
    children = _Children(settings, data, read_settings)

    def reload() -> Sequence[ProcessSpec] | None:
        replaced = children.reload()
        # The desk and the metrics stay where they listen until the next start.
        now = replace(children.settings, desk=settings.desk, metrics=settings.metrics)
        mark.set(now, children.address() or address)
        return replaced

    try:
        supervisor = Supervisor(
            children.backend(),
            children.workers(),
            grace_s=settings.proxy.stop_grace_s,
            hang_timeout_s=settings.proxy.hang_timeout_s,
            room=DiskReserve(data, size=settings.proxy.ballast_bytes),
        )
        with contextlib.suppress(StopRequested):
            address = supervisor.start()
            mark.set(settings, children.address() or address)
            _print(f"linkmend ready on http://{children.address() or address}\n")
            supervisor.watch(reload)
            supervisor.stop()
    finally:
        mark.remove()
        children.close()


async def _serve_in_one_process(settings: Settings, data: Path, read_settings: ReadSettings) -> None:
    room = DiskReserve(data, size=settings.proxy.ballast_bytes)
    room.release()
    worker = WorkerContainer(settings, data)
    mark = RunningMark(data)
    holding: list[asyncio.Task[None]] = []

    async def hold_room() -> None:
        while True:
            await asyncio.to_thread(room.hold)
            await asyncio.sleep(_CHECK_DISK_S)

    def ready(address: str) -> None:
        holding.append(asyncio.create_task(hold_room()))
        mark.set(settings, address)
        _print(f"linkmend ready on http://{address}\n{worker.admin.describe() if worker.admin else ''}")

    try:
        await carry_traffic(worker, data, read_settings, ready)
    finally:
        mark.remove()
        for task in holding:
            task.cancel()


class _Children:
    """The backend and the workers: what they share, made before the first fork, and what each does."""

    def __init__(self, settings: Settings, data: Path, read_settings: ReadSettings) -> None:
        self.settings = settings
        self._data = data
        self._read_settings = read_settings
        self._socket = _open_socket(settings.proxy)
        self._count = _worker_count(settings.proxy) if self._socket is not None else 1
        self._changes = SharedInvalidation()
        self._leases = LeaseTable()
        self._portal_redirects = PortalRedirects()
        self._run = RuntimeDirectory()
        self._listener = self._run.listen()
        known_suffixes()  # 4 MB that are read once and shared
        gc.collect()
        gc.freeze()  # or the first collection in each process would copy all that they share

    def close(self) -> None:
        self._close_socket()
        self._listener.close()
        self._run.remove()

    def address(self) -> str:
        """What browsers use; empty where the worker opens its own socket."""
        return self._socket.address() if self._socket is not None else ""

    def backend(self) -> ProcessSpec:
        return ProcessSpec(name="backend", run=self._run_backend)

    def workers(self) -> tuple[ProcessSpec, ...]:
        return tuple(map(self._worker, range(1, self._count + 1)))

    def reload(self) -> Sequence[ProcessSpec] | None:
        """Read the settings for children that start from now on; with another address, the workers to replace all."""
        fresh = self._read_settings()
        # What workers would not start with must not be kept for those that take a dead one's place.
        passthrough_domains(fresh.proxy)
        origin_context(fresh.proxy)
        address, old = listen_address(mode_at(fresh.proxy)), self._socket
        if (address is None) != (old is None):
            raise StartError(f"proxy.mode: {fresh.proxy.mode} needs a restart")
        logs.set_up(fresh.log, process="supervisor")
        if old is None or address == (old.host, old.port):
            self.settings = fresh
            return None
        self._socket = _open_socket(fresh.proxy)
        self.settings = fresh
        old.close()  # the workers have it open for as long as they need it
        return self.workers()

    def _close_socket(self) -> None:
        if self._socket is not None:
            self._socket.close()

    def _worker(self, number: int) -> ProcessSpec:
        name = f"worker {number}"

        def run(context: ChildContext) -> None:
            logs.set_up(self.settings.log, process=name)
            self._listener.close()
            asyncio.run(self._carry_traffic(context, name, WorkerLeases(self._leases, number)))

        return ProcessSpec(name=name, run=run)

    async def _carry_traffic(self, context: ChildContext, name: str, leases: WorkerLeases) -> None:
        _follow(context, self._close_socket)
        if self._socket is not None:
            accept_from(self._socket)
        worker = WorkerContainer(
            self.settings,
            self._data,
            backend=BackendClient(self._run.rpc, self._run.admin, name=name),
            changes=self._changes,
            leases=leases,
            portal_redirects=self._portal_redirects,
        )
        await carry_traffic(worker, self._data, self._read_settings, context.ready, process=name)

    def _run_backend(self, context: ChildContext) -> None:
        logs.set_up(self.settings.log, process="backend")
        self._close_socket()
        _lower_priority()
        asyncio.run(self._serve_backend(context))

    async def _serve_backend(self, context: ChildContext) -> None:
        loop, stop = asyncio.get_running_loop(), asyncio.Event()
        end_quietly(loop)
        _follow(context, lambda: None)
        # It serves no hits, so it keeps no responses in memory.
        settings = replace(self.settings, cache=replace(self.settings.cache, memory_bytes=0))
        shared = SharedState(settings, self._data, changes=self._changes)
        backend = Backend(shared, self._run.admin, process="backend")
        server = RpcServer(backend.services(), self._listener, ports=lambda: backend.admin.ports)
        backend.admin.unready = lambda: "" if server.has_workers() else "no worker accepts clients"
        backend.admin.running = lambda: read_mark(self._data)  # the supervisor's: no process may read its own
        loop.add_signal_handler(signal.SIGTERM, stop.set)
        loop.add_signal_handler(signal.SIGHUP, self._reload_backend, shared, backend)
        try:
            await shared.start()
            await backend.start()
            await server.start()
            gc.collect()
            gc.freeze()  # as in a worker: what stays is not looked at again while a page is ranked
            _print(backend.admin.describe())
            context.ready("")
            await stop.wait()
            await server.close()
        finally:
            await backend.close()
            await shared.close()

    def _reload_backend(self, shared: SharedState, backend: Backend) -> None:
        try:
            fresh = self._read_settings()
        except LinkmendError as error:
            log.error("settings not reloaded, the old ones stay: %s", error)
            return
        logs.set_up(fresh.log, process="backend")
        shared.apply(fresh)
        backend.apply(fresh)
        log.info("settings reloaded")


def _worker_count(settings: ProxySettings) -> int:
    return settings.workers or min(len(os.sched_getaffinity(0)), _MOST_WORKERS)


def _open_socket(settings: ProxySettings) -> ListenSocket | None:
    """The socket that all workers accept from; None in a mode that cannot share one: its one worker opens it."""
    address = listen_address(mode_at(settings))
    if address is None:
        log.info("mode %s listens in a way that workers cannot share: there is one", settings.mode)
        return None
    return open_listen_socket(*address)


def _print(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _lower_priority() -> None:
    """Let workers go first, in all threads to come; other programs still leave us our part."""
    with contextlib.suppress(OSError):  # where a service manager forbids it
        os.nice(_BACKEND_NICE)
        if hasattr(os, "SCHED_BATCH"):  # a process of this kind never interrupts one that runs
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


def _follow(context: ChildContext, leave: Callable[[], None]) -> None:
    """Send heartbeats as long as the loop runs. When the supervisor is gone, `leave` and stop: another linkmend is
    to find the port free."""
    loop = asyncio.get_running_loop()

    def beat() -> None:
        context.beat()
        loop.call_later(HEARTBEAT_S, beat)

    def stop() -> None:
        loop.remove_reader(context.lifeline)
        log.error("the supervisor is gone: stopping")
        leave()
        os.kill(os.getpid(), signal.SIGTERM)

    loop.add_reader(context.lifeline, stop)
    beat()
