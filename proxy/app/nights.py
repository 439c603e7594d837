"""Starts `linkmend grow` every night, from the backend, as a process of its own.

The process gets the settings of the moment by its environment, and nothing else of ours but a pipe as its standard
input, in which nothing is ever written. It ends with the backend, by the end of that pipe even when the backend is
killed, and at the latest when the night does; what it had not done is due the next night.
"""

import asyncio
import logging
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

from proxy.backgroundtask import BackgroundTask
from proxy.nighthours import NightHours
from proxy.ownprocesses import environment_for, follow_output
from proxy.settings import Settings

log = logging.getLogger(__name__)

_LOOK_EVERY_S = 60.0
_STOP_S = 20.0
_HALF_A_DAY = timedelta(hours=12)
_MAX_OUTPUT = 2_000


class NightlyGrowth:
    """One task that looks at the clock. For one event loop."""

    def __init__(
        self,
        data: Path,
        settings: Callable[[], Settings],
        *,
        last_night: Callable[[], datetime | None],
        clock: Callable[[], datetime] = lambda: datetime.now().astimezone(),
        command: Sequence[str] = (sys.executable, "-m", "proxy.main", "grow"),
    ) -> None:
        """`last_night` says when the last night began, in whichever process; it blocks for a moment."""
        self._data, self._settings = data, settings
        self._last_night, self._clock, self._command = last_night, clock, command
        self._task = BackgroundTask()
        self._process: asyncio.subprocess.Process | None = None
        self._started_at: datetime | None = None

    async def start(self) -> None:
        self._task.start(self._run())

    async def close(self) -> None:
        """Stop the night if one goes on."""
        await self._task.close()
        await self._stop()

    async def _run(self) -> None:
        while True:
            try:
                await self.look()
            except Exception:  # a night that fails must not end all that follow
                log.exception("growing at night failed")
            await asyncio.sleep(_LOOK_EVERY_S)

    async def look(self) -> None:
        """Start the night if it is time, and stop it if it is over."""
        settings, now = self._settings(), self._clock()
        is_night = NightHours.parse(settings.fetch.night).holds(now.time())
        wanted = settings.grow.enabled and not settings.proxy.offline and is_night
        if self._process is not None:
            if self._process.returncode is not None:
                self._process = None
            elif not wanted:
                log.info("growing: the night is over")
                await self._stop()
        elif wanted and await self._is_due(now):
            self._started_at = now
            await self._spawn(settings)

    async def _is_due(self, now: datetime) -> bool:
        """Whether no night has begun in the last twelve hours; a failed start waits as long."""
        last = self._started_at or await asyncio.to_thread(self._last_night)
        return last is None or now - last >= _HALF_A_DAY

    async def _spawn(self, settings: Settings) -> None:
        self._process = await asyncio.create_subprocess_exec(
            *self._command,
            *("--with-parent", "--config", os.devnull, "--data", str(self._data), "--json"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=environment_for(settings),
        )
        log.info("growing: the night begins")
        self._reading = asyncio.create_task(self._report(self._process))

    async def _report(self, process: asyncio.subprocess.Process) -> None:
        """Log the end of what a night said."""
        lines: list[str] = []
        async for said in follow_output(process, _MAX_OUTPUT):
            lines = said.splitlines()
        code = await process.wait()
        log.log(
            logging.WARNING if code else logging.INFO,
            "growing ended with %d: %s",
            code,
            lines[-1] if lines else "",
        )

    async def _stop(self) -> None:
        process, self._process = self._process, None
        if process is None or process.returncode is not None:
            return
        with suppress(ProcessLookupError):
            process.terminate()
        try:
            async with asyncio.timeout(_STOP_S):
                await process.wait()
        except TimeoutError:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
