"""The mark of a running linkmend in its data folder: where it really listens, whatever the settings file says.

`linkmend serve --listen ...` and the environment take precedence over the file, so a command that only reads the file
would look at the wrong address. The mark is locked for as long as its process lives: what a killed one left behind is
no mark. The lock is of the kind that child processes do not inherit.
"""

import fcntl
import logging
import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import msgspec

from proxy.settings import Settings

log = logging.getLogger(__name__)

FILE = "running"
"""Its name in the data folder."""
_MOST_BYTES = 65_536


class RunningSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What a running linkmend listens on, and which of its settings the command line may have changed."""

    pid: int
    listen: str
    mode: str
    parent: str
    offline: bool
    desk: str
    metrics: str
    """Empty, as `desk`, when it is switched off."""
    config: str = ""
    """The settings file; empty when none was found."""

    def applied_to(self, settings: Settings) -> Settings:
        """The settings of a file as the running linkmend has them."""
        proxy = replace(
            settings.proxy, listen=self.listen, mode=self.mode, parent=self.parent, offline=self.offline
        )
        desk = replace(settings.desk, enabled=bool(self.desk), listen=self.desk)
        metrics = replace(settings.metrics, enabled=bool(self.metrics), listen=self.metrics)
        return replace(settings, proxy=proxy, desk=desk, metrics=metrics)


class RunningMark:
    """Set by the process that runs linkmend. Without it, or on a full disk, linkmend runs all the same."""

    def __init__(self, data: Path, config: Path | None = None) -> None:
        self._path = data / FILE
        self._config = config
        self._file: int | None = None

    def set(self, settings: Settings, address: str) -> None:
        """Say that linkmend runs with these settings and its clients find it at `address`."""
        running = RunningSettings(
            pid=os.getpid(),
            listen=address or settings.proxy.listen,
            mode=settings.proxy.mode,
            parent=settings.proxy.parent,
            offline=settings.proxy.offline,
            desk=settings.desk.listen if settings.desk.enabled else "",
            metrics=settings.metrics.listen if settings.metrics.enabled else "",
            config=str(self._config.absolute()) if self._config is not None else "",
        )
        try:
            if self._file is None:
                self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
                fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            text = msgspec.json.encode(running)
            os.pwrite(self._file, text, 0)
            os.ftruncate(self._file, len(text))
        except OSError as error:
            log.warning("%s: linkmend doctor will look where the settings say: %s", self._path, error)

    def remove(self) -> None:
        if self._file is not None:
            with suppress(OSError):
                self._path.unlink()
            os.close(self._file)
            self._file = None


def read_mark(data: Path) -> RunningSettings | None:
    """What runs in a data folder; None when nothing does, or this user may not know."""
    try:
        file = os.open(data / FILE, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        with suppress(OSError, msgspec.DecodeError):
            return msgspec.json.decode(os.pread(file, _MOST_BYTES, 0), type=RunningSettings)
    finally:
        os.close(file)
    return None
