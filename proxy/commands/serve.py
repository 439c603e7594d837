"""`linkmend serve`: the proxy itself."""

import asyncio
import gc
import logging
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proxy import logs
from proxy.commands.options import Config, Data, data_from, settings_from
from proxy.errors import LinkmendError
from proxy.processes.descriptors import raise_limit
from proxy.processes.loops import end_quietly
from proxy.settings import Settings, split_address
from proxy.store.ballast import Ballast
from proxy.trust.passthrough import passthrough_domains

if TYPE_CHECKING:
    from addons.master import LeanMaster
    from addons.parts import Parts

log = logging.getLogger(__name__)

_LOOK_AT_DISK_S = 5.0


def serve(
    config: Config = None,
    data: Data = None,
    listen: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Where browsers find the proxy.")
    ] = None,
    mode: Annotated[
        str | None, typer.Option(metavar="MODE", help="regular, transparent, reverse:URL or upstream:URL.")
    ] = None,
    parent: Annotated[
        str | None, typer.Option(metavar="URL", help="A Squid to send every request to, http://HOST:PORT.")
    ] = None,
    offline: Annotated[bool | None, typer.Option("--offline", help="Serve only what is held.")] = None,
    workers: Annotated[
        int | None,
        typer.Option(metavar="N", help="Processes that carry traffic; 0 for one per core, up to 4."),
    ] = None,
) -> None:
    """Run the proxy until it is told to stop (SIGTERM, Ctrl-C); SIGHUP reads the settings again."""
    _without_asserts()
    overrides = {
        "proxy.listen": listen,
        "proxy.mode": mode,
        "proxy.parent": parent,
        "proxy.offline": offline,
        "proxy.workers": workers,
    }

    def read_settings() -> Settings:
        return settings_from(config, overrides)

    settings = read_settings()
    logs.set_up(settings.log)
    # Half a second of imports that no other command needs.
    from proxy.commands import crew

    count = crew.size(settings.proxy)
    if count > 1:
        crew.serve(settings, data_from(data), read_settings, count)
    elif count == 1:
        crew.serve_alone(settings, data_from(data), read_settings)
    else:
        asyncio.run(_serve(settings, data_from(data), read_settings))


def _without_asserts() -> None:
    """Begin again under `python -O`: mitmproxy checks itself with asserts, a tenth of the time of each request.

    linkmend has none of its own. It is started as it was, so that it is found in the same place.
    """
    if __debug__:
        sys.stdout.flush()
        os.execv(sys.executable, [sys.executable, "-O", *sys.orig_argv[1:]])  # noqa: S606


async def _serve(settings: Settings, data: Path, read_settings: Callable[[], Settings]) -> None:
    from addons.parts import Parts

    room = Ballast(data, size=settings.proxy.ballast_bytes)
    room.release()
    parts = Parts(settings, data)

    def ready(address: str) -> None:
        sys.stdout.write(f"linkmend ready on http://{address}\n{parts.desk.told() if parts.desk else ''}")
        sys.stdout.flush()

    await carry_traffic(parts, data, read_settings, ready, room=room)


async def _keep_room(room: Ballast) -> None:
    while True:
        await asyncio.to_thread(room.hold)
        await asyncio.sleep(_LOOK_AT_DISK_S)


async def carry_traffic(
    parts: "Parts",
    data: Path,
    read_settings: Callable[[], Settings],
    ready: Callable[[str], None],
    *,
    process: str = "",
    on_reload: Callable[[], None] = lambda: None,
    room: Ballast | None = None,
) -> None:
    """Run mitmproxy over open parts until SIGTERM or SIGINT, and close them; `ready` is told where it listens.

    `on_reload` is called when settings were read again and found good; `room` is held once all is open.
    """
    from addons.master import LeanMaster

    end_quietly(asyncio.get_running_loop())
    keeping: list[asyncio.Task[None]] = []
    open_files = raise_limit()
    try:
        master = LeanMaster(parts.settings.proxy, str(data / "ca"), parts.addons())
        await parts.start()
        gc.collect()
        gc.freeze()  # what lives as long as the proxy need not be looked at by every collection

        def is_ready() -> None:
            log.info("up to %d files and connections may be open (the limit was %d)", *open_files)
            if parts.desk is not None:
                parts.desk.unready = lambda: _unready(master)
            if room is not None:
                keeping.append(asyncio.create_task(_keep_room(room)))
            address = master.listening_on()
            parts.premises.note_ports(
                (split_address(address)[1],), of="proxy"
            )  # the system may have chosen it
            ready(address)

        reload = _Reload(master, parts, read_settings, process, on_reload)
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, reload)
        grace_s = parts.settings.proxy.stop_grace_s
        await master.serve(
            ready=is_ready, in_flight=lambda: len(parts.under_way), grace_s=grace_s, leave=parts.leave
        )
    finally:
        for task in keeping:
            task.cancel()
        await parts.close()


def _unready(master: "LeanMaster") -> str:
    try:
        master.listening_on()
    except LinkmendError as error:
        return str(error)
    return ""


class _Reload:
    """Reads the settings again and takes them over, one call after the other; what cannot be done changes nothing."""

    def __init__(
        self,
        master: "LeanMaster",
        parts: "Parts",
        read_settings: Callable[[], Settings],
        process: str,
        on_reload: Callable[[], None],
    ) -> None:
        self._master, self._parts, self._read_settings = master, parts, read_settings
        self._on_reload = on_reload
        self._process = process
        self._one_at_a_time = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()

    def __call__(self) -> None:
        task = asyncio.ensure_future(self._reload())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _reload(self) -> None:
        async with self._one_at_a_time:
            try:
                fresh = self._read_settings()
                passthrough_domains(fresh.proxy)  # a list with a mistake is told before anything is changed
                await self._master.reapply(fresh.proxy)
            except LinkmendError as error:
                log.error("settings not reloaded, the old ones stay: %s", error)
                return
            logs.set_up(fresh.log, process=self._process)
            self._parts.apply(fresh)
            self._on_reload()
            await asyncio.to_thread(self._parts.premises.rules.reload)
            log.info("settings reloaded")
