"""mitmproxy over a worker: start, reload on SIGHUP, drain and close on SIGTERM."""

import asyncio
import gc
import logging
import signal
from collections.abc import Callable
from pathlib import Path

from addons.mitm.master import LeanMaster
from proxy import logs
from proxy.app.worker import WorkerContainer
from proxy.descriptors import raise_limit
from proxy.errors import LinkmendError
from proxy.eventloops import end_quietly
from proxy.reach.passthrough import passthrough_domains
from proxy.settings import Settings, split_address

log = logging.getLogger(__name__)


async def carry_traffic(
    worker: WorkerContainer,
    data: Path,
    read_settings: Callable[[], Settings],
    ready: Callable[[str], None],
    *,
    process: str = "",
) -> None:
    """Run mitmproxy over an open worker until SIGTERM or SIGINT, and close it; `ready` gets its address."""
    end_quietly(asyncio.get_running_loop())
    open_files = raise_limit()
    try:
        master = LeanMaster(worker.settings.proxy, str(data / "ca"), worker.addons())
        await worker.start()
        gc.collect()
        gc.freeze()  # what lives as long as the proxy need not be looked at by every collection

        def is_ready() -> None:
            log.info("open-file limit: %d (was %d)", *open_files)
            if worker.admin is not None:
                worker.admin.unready = lambda: _unready(master)
            address = master.listening_on()
            worker.shared.note_ports(
                (split_address(address)[1],), of="proxy"
            )  # the system may have chosen it
            ready(address)

        reload = _Reload(master, worker, read_settings, process)
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, reload)
        await master.serve(
            ready=is_ready,
            in_flight=worker.in_flight,
            grace_s=worker.settings.proxy.stop_grace_s,
            leave=worker.leave,
        )
    finally:
        await worker.close()


def _unready(master: LeanMaster) -> str:
    try:
        master.listening_on()
    except LinkmendError as error:
        return str(error)
    return ""


class _Reload:
    """Reads the settings again and takes them over, one call after the other; a bad file changes nothing."""

    def __init__(
        self,
        master: LeanMaster,
        worker: WorkerContainer,
        read_settings: Callable[[], Settings],
        process: str,
    ) -> None:
        self._master, self._worker, self._read_settings = master, worker, read_settings
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
                passthrough_domains(fresh.proxy)  # a mistake in this list is reported before anything changes
                await self._master.reapply(fresh.proxy)
            except LinkmendError as error:
                log.error("settings not reloaded, the old ones stay: %s", error)
                return
            logs.set_up(fresh.log, process=self._process)
            self._worker.apply(fresh)
            await asyncio.to_thread(self._worker.shared.rules.reload)
            log.info("settings reloaded")
