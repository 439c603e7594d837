"""`linkmend serve` in several processes: who does what in which.

supervisor   holds the listening sockets, starts and replaces the others, prints that all is ready
office       holds the stores that have one writer, ranks, reads pages, asks archives; at lower priority
worker       mitmproxy, the cache and a line to the office

With one worker there is no supervisor: the process that was started carries the traffic, opens its own sockets, in
whichever mode, and has a keeper look after the office (proxy/processes/keeper.py).
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
from functools import partial
from pathlib import Path

from addons.desk import DeskSide
from addons.listening import Door, Listening, opened, place_of
from addons.master import mode_at
from addons.office import Office
from addons.parts import Parts
from addons.premises import Premises
from proxy import logs
from proxy.commands.serve import carry_traffic
from proxy.errors import LinkmendError, StartError
from proxy.office.messages import Welcome
from proxy.office.rundir import RunDirectory
from proxy.office.server import OfficeServer
from proxy.office.standins import DistantOffice
from proxy.processes.keeper import Keeper
from proxy.processes.loops import end_quietly
from proxy.processes.workers import BEAT_EVERY_S, Role, Station, Stopped, Supervisor, are_possible
from proxy.readers.detour import Detours
from proxy.settings import ProxySettings, Settings
from proxy.store.ballast import Ballast
from proxy.store.changes import SharedChanges
from proxy.trust.certificates import origin_context
from proxy.trust.passthrough import passthrough_domains

log = logging.getLogger(__name__)

_MOST_BY_ITSELF = 4  # each takes some 60 MB of its own, and one carries hundreds of readers
_OFFICE_NICE = 10  # a reader who waits for an ordinary page goes before one whose page has to be found


def size(settings: ProxySettings) -> int:
    """How many workers there will be; 0 when everything has to be in one process."""
    if not are_possible():
        log.info("this system has no way to run several processes: one does everything")
        return 0
    wanted = settings.workers or min(len(os.sched_getaffinity(0)), _MOST_BY_ITSELF)
    if wanted > 1 and place_of(mode_at(settings)) is None:
        log.info("mode %s listens in a way that workers cannot share: one", settings.mode)
        return 1
    return wanted


def serve(settings: Settings, data: Path, read_settings: Callable[[], Settings], count: int) -> None:
    """Run the proxy in an office and workers until SIGTERM or SIGINT. Raises LinkmendError when it cannot start."""
    logs.set_up(settings.log, process="supervisor")
    crew = _Crew(settings, data, read_settings, count)
    try:
        supervisor = Supervisor(
            crew.office(),
            crew.workers(),
            grace_s=settings.proxy.stop_grace_s,
            hang_timeout_s=settings.proxy.hang_timeout_s,
            room=Ballast(data, size=settings.proxy.ballast_bytes),
        )
        with contextlib.suppress(Stopped):
            supervisor.start()
            _tell_ready(crew.door.address())
            supervisor.watch(crew.reloaded)
            supervisor.stop()
    finally:
        crew.close()


def serve_alone(settings: Settings, data: Path, read_settings: Callable[[], Settings]) -> None:
    """Run the proxy in this process, with an office beside it. Raises LinkmendError when it cannot start."""
    pair = _Pair(settings, data, read_settings)
    try:
        pair.serve()
    finally:
        pair.close()


class _Staff:
    """What an office and those who carry traffic have in common, made before anything is forked."""

    def __init__(self, settings: Settings, data: Path, read_settings: Callable[[], Settings]) -> None:
        self._settings = settings
        self._data = data
        self._read_settings = read_settings
        self._changes = SharedChanges()
        self._detours = Detours()
        try:
            self._run = RunDirectory()
        except OSError as error:
            raise StartError(f"no place for the office's socket: {error}") from error
        gc.collect()
        gc.freeze()  # or the first collection in each process would copy all that they share

    def close(self) -> None:
        self._run.remove()

    def office(self) -> Role:
        return Role(name="office", run=self._be_office)

    def _room(self) -> Ballast:
        return Ballast(self._data, size=self._settings.proxy.ballast_bytes)

    def _leave_door(self) -> None:
        """Close what only those who carry traffic need."""

    def _be_office(self, station: Station) -> None:
        logs.set_up(self._settings.log, process="office")
        self._leave_door()
        _make_way()
        self._room().release()
        asyncio.run(self._keep_office(station))

    async def _keep_office(self, station: Station) -> None:
        end_quietly(asyncio.get_running_loop())
        _watch(station, lambda: None)
        # It answers no readers, so what is on disk is enough for it.
        settings = replace(self._settings, cache=replace(self._settings.cache, memory_bytes=0))
        premises = Premises(settings, self._data, changes=self._changes)
        office = Office(premises, process="office")
        desk = DeskSide(premises, office)
        server = OfficeServer(office, self._run.listener, welcome=partial(_welcome, desk))
        desk.unready = lambda: "" if server.has_workers() else "no worker is there"
        loop, stop = asyncio.get_running_loop(), asyncio.Event()
        loop.add_signal_handler(signal.SIGTERM, stop.set)
        loop.add_signal_handler(signal.SIGHUP, self._reload_office, premises, office, desk)
        try:
            await premises.start()
            await office.start()
            await desk.start()
            await server.start()
            sys.stdout.write(desk.told())
            sys.stdout.flush()
            station.ready()
            await stop.wait()
            await server.close()
        finally:
            await desk.stop()
            await office.close()
            await premises.close()

    def _reload_office(self, premises: Premises, office: Office, desk: DeskSide) -> None:
        try:
            fresh = self._read_settings()
        except LinkmendError as error:
            log.error("settings not reloaded, the old ones stay: %s", error)
            return
        logs.set_up(fresh.log, process="office")
        premises.apply(fresh)
        office.apply(fresh)
        desk.apply(fresh)
        log.info("settings reloaded")


class _Crew(_Staff):
    """An office and workers; each role says what is done in one of them."""

    def __init__(
        self, settings: Settings, data: Path, read_settings: Callable[[], Settings], count: int
    ) -> None:
        self.door = _door(settings.proxy)
        super().__init__(settings, data, read_settings)
        self._count = count

    def close(self) -> None:
        self.door.close()
        super().close()

    def workers(self) -> tuple[Role, ...]:
        return tuple(map(self._worker, range(1, self._count + 1)))

    def reloaded(self) -> Sequence[Role] | None:
        """The new settings are for whoever starts from now on; with another address, for workers that take over."""
        fresh = self._read_settings()
        # What workers would not start with must not be kept for those that take a dead one's place.
        passthrough_domains(fresh.proxy)
        origin_context(fresh.proxy)
        place = place_of(mode_at(fresh.proxy))
        if place is None:
            raise StartError(f"proxy.mode: {fresh.proxy.mode} needs a new start")
        logs.set_up(fresh.log, process="supervisor")
        moved = place != (self.door.host, self.door.port)
        door = _door(fresh.proxy) if moved else self.door
        self._settings, old, self.door = fresh, self.door, door
        if not moved:
            return None
        old.close()  # the workers have it open for as long as they need it
        return self.workers()

    def _worker(self, number: int) -> Role:
        name = f"worker {number}"

        def run(station: Station) -> None:
            logs.set_up(self._settings.log, process=name)
            self._run.listener.close()
            asyncio.run(self._carry_traffic(station, name))

        return Role(name=name, run=run)

    async def _carry_traffic(self, station: Station, name: str) -> None:
        _watch(station, self.door.close)
        Listening(self.door).install()
        office = DistantOffice(self._settings, self._run.path, name=name)
        parts = Parts(self._settings, self._data, office=office, changes=self._changes, detours=self._detours)
        await carry_traffic(parts, self._data, self._read_settings, lambda _: station.ready(), process=name)

    def _leave_door(self) -> None:
        self.door.close()


class _Pair(_Staff):
    """This process, which carries the traffic, and an office."""

    def serve(self) -> None:
        hang_timeout_s = self._settings.proxy.hang_timeout_s
        self._keeper = Keeper(self.office(), self._reloaded, hang_timeout_s=hang_timeout_s)
        self._keeper.start()
        try:
            self._run.listener.close()
            asyncio.run(self._carry_traffic())
        finally:
            self._keeper.stop()

    def _reloaded(self) -> None:
        """In the keeper: the new settings are for the next office too."""
        self._settings = self._read_settings()

    async def _carry_traffic(self) -> None:
        _watch(Station(lifeline=self._keeper.lifeline, ready=lambda: None), lambda: None)
        office = DistantOffice(self._settings, self._run.path, alone=True)
        room = self._room()
        room.release()
        parts = Parts(self._settings, self._data, office=office, changes=self._changes)
        await carry_traffic(
            parts, self._data, self._read_settings, _tell_ready, on_reload=self._keeper.hang_up, room=room
        )


def _tell_ready(address: str) -> None:
    sys.stdout.write(f"linkmend ready on http://{address}\n")
    sys.stdout.flush()


def _make_way() -> None:
    """Let those who carry traffic go first, in all threads to come; beside other programs we still get our part."""
    with contextlib.suppress(OSError):  # where a service manager forbids it
        os.nice(_OFFICE_NICE)
        if hasattr(
            os, "SCHED_BATCH"
        ):  # who works like this never interrupts who runs, only because it was woken
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


def _welcome(desk: DeskSide) -> Welcome:
    return Welcome(
        door_address=desk.door_address, door_secret=desk.door.secret, ports=tuple(sorted(desk.ports))
    )


def _door(settings: ProxySettings) -> Door:
    place = place_of(mode_at(settings))
    if place is None:
        raise StartError(f"proxy.mode: workers cannot share {settings.mode}")
    return opened(*place)


def _watch(station: Station, leave: Callable[[], None]) -> None:
    """When who watches over the office is gone, `leave` and stop: another linkmend is to find the port free.

    Beat as long as the loop turns.
    """
    loop = asyncio.get_running_loop()

    def beat() -> None:
        station.beat()
        loop.call_later(BEAT_EVERY_S, beat)

    def orphaned() -> None:
        loop.remove_reader(station.lifeline)
        log.error("the process that watches over the others is gone: stopping")
        leave()
        os.kill(os.getpid(), signal.SIGTERM)

    loop.add_reader(station.lifeline, orphaned)
    beat()
