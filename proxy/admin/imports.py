"""Imports that somebody starts at the desk: files in the folder `import` of linkmend's data, and the demo.

A browser does not send gigabytes through the proxy. So files come by a USB stick or over the network into that
folder, and the desk lists them. `linkmend import`, which may run beside the proxy, does the work in a process of its
own, one at a time.
"""

import asyncio
import logging
import os
import stat
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from proxy.backgroundtask import BackgroundTask
from proxy.errors import LinkmendError
from proxy.ownprocesses import environment_for, follow_output
from proxy.pages.desktexts import DeskText, tr
from proxy.settings import Settings
from proxy.setup.shipped import DEMO, shipped_file
from repair.text import urls

log = logging.getLogger(__name__)

FOLDER = "import"
_MOST_LISTED = 200
_MAX_SAID = 4_096


class ImportRefused(LinkmendError):
    """An import that cannot begin."""

    def __init__(self, words: DeskText) -> None:
        super().__init__(words)
        self.words = words


class ImportState(StrEnum):
    """How an import stands."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingFile:
    """A file that can be imported, or a folder, of which no size is told."""

    name: str
    size: int | None


@dataclass(slots=True, kw_only=True)
class DeskImport:
    """The latest import: what it said last, and how it ended."""

    name: str
    started_at: datetime
    state: ImportState = ImportState.RUNNING
    said: str = ""


class DeskImports:
    """One import at a time. For one event loop."""

    def __init__(
        self,
        data: Path,
        settings: Callable[[], Settings],
        *,
        command: Sequence[str] = (sys.executable, "-m", "proxy.main", "import"),
    ) -> None:
        self.folder = data / FOLDER
        self._data, self._settings, self._command = data, settings, command
        self.latest: DeskImport | None = None
        self._task = BackgroundTask()

    def waiting(self) -> tuple[WaitingFile, ...]:
        """What lies in the folder, by name; the folder is made if there is none. Raises ImportRefused."""
        found = list[WaitingFile]()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            for name in sorted(os.listdir(self.folder)):
                kind = self._kind(name)
                if kind is not None and len(found) < _MOST_LISTED:
                    size = None if stat.S_ISDIR(kind.st_mode) else kind.st_size
                    found.append(WaitingFile(name=name, size=size))
        except OSError as error:
            raise ImportRefused(
                tr("{folder} can't be read: {error}", folder=str(self.folder), error=error.strerror or "")
            ) from error
        return tuple(found)

    def _kind(self, name: str) -> os.stat_result | None:
        """None for what is neither a file nor a folder, links among them: they may lead anywhere."""
        if name.startswith(".") or not name.isprintable():
            return None
        try:
            found = (self.folder / name).lstat()
        except OSError:
            return None
        return found if stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode) else None

    async def begin(self, name: str, base_url: str = "") -> None:
        """Import what lies in the folder under this name. Raises ImportRefused."""
        if name not in {each.name for each in await asyncio.to_thread(self.waiting)}:
            raise ImportRefused(tr("{name} is no longer in the folder.", name=name))
        if base_url and not urls.is_web_url(base_url):
            raise ImportRefused(tr("not a web address (start with http:// or https://)"))
        self._begin(name, self.folder / name, *(("--base-url", base_url) if base_url else ()))

    def begin_demo(self) -> None:
        """Import the demo collection. Raises ImportRefused."""
        self._begin(DEMO, shipped_file(DEMO))

    async def wait(self) -> None:
        """Until no import goes on."""
        await self._task.wait()

    async def close(self) -> None:
        """Stop an import that goes on; what it has read so far stays."""
        await self._task.close()

    def _begin(self, name: str, path: Path, *options: str) -> None:
        if self.latest is not None and self.latest.state is ImportState.RUNNING:
            raise ImportRefused(tr("{name} is being imported; wait until it is done.", name=self.latest.name))
        self.latest = DeskImport(name=name, started_at=datetime.now().astimezone())
        self._task.start(self._run(self.latest, (str(path), *options)))

    async def _run(self, run: DeskImport, arguments: Sequence[str]) -> None:
        try:
            process = await asyncio.create_subprocess_exec(
                *self._command,
                *arguments,
                *("--config", os.devnull, "--data", str(self._data)),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                env=environment_for(self._settings()),
            )
            try:
                run.state = ImportState.FAILED if await self._follow(run, process) else ImportState.DONE
            finally:
                with suppress(ProcessLookupError):
                    process.kill()
        except OSError as error:
            run.said = error.strerror or str(error)
        finally:
            if run.state is ImportState.RUNNING:
                run.state = ImportState.FAILED
        level = logging.INFO if run.state is ImportState.DONE else logging.WARNING
        log.log(level, "desk: import of %s: %s", run.name, run.said)

    @staticmethod
    async def _follow(run: DeskImport, process: asyncio.subprocess.Process) -> int:
        """Keep the end of what it says; its exit code."""
        async for said in follow_output(process, _MAX_SAID):
            run.said = said.strip()
        return await process.wait()
