"""The folder of linkmend's unix sockets: private, with a short name, and removed when linkmend stops.

A socket's address has room for a hundred letters, too few for some data folders; so it lies where the system keeps
such things. What a killed linkmend left there is removed by the next.
"""

import os
import shutil
import socket
import tempfile
from contextlib import suppress
from pathlib import Path

from proxy.errors import StartError

_PREFIX = "linkmend-"


class RuntimeDirectory:
    """A folder of this process: `rpc` is for calls of workers, `admin` for forwarded admin requests."""

    def __init__(self, parent: Path | None = None) -> None:
        """Raises StartError."""
        parent = parent or _place()
        try:
            _sweep(parent)
            # mkdtemp makes it for its owner alone; the process's number tells whose it is.
            self._directory = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=parent))
        except OSError as error:
            raise StartError(f"no place for linkmend's sockets: {error}") from error
        self.rpc = self._directory / "rpc"
        self.admin = self._directory / "admin"

    def listen(self) -> socket.socket:
        """Listen for workers. Raises StartError."""
        listener = socket.socket(socket.AF_UNIX)
        try:
            listener.bind(str(self.rpc))
            self.rpc.chmod(0o600)
            listener.listen(128)
        except OSError as error:
            raise StartError(f"cannot listen on {self.rpc}: {error}") from error
        return listener

    def remove(self) -> None:
        shutil.rmtree(self._directory, ignore_errors=True)


def _place() -> Path:
    for name in ("RUNTIME_DIRECTORY", "XDG_RUNTIME_DIR"):
        place = os.environ.get(name, "").split(":")[0]
        if place and os.access(place, os.W_OK):
            return Path(place)
    return Path(tempfile.gettempdir())


def _sweep(parent: Path) -> None:
    """Remove the folders of linkmend processes that are no more."""
    for folder in parent.glob(f"{_PREFIX}[0-9]*-*"):
        number = folder.name.removeprefix(_PREFIX).partition("-")[0]
        with suppress(OSError):
            if number.isdecimal() and folder.stat().st_uid == os.getuid() and not _is_alive(int(number)):
                shutil.rmtree(folder, ignore_errors=True)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
