"""The folder of the office's socket: private, with a short name, and removed when linkmend stops.

A socket's address has room for a hundred letters, too few for some data folders; so it lies where the system keeps
such things. What a killed linkmend left there is removed by the next.
"""

import os
import shutil
import socket
import tempfile
from contextlib import suppress
from pathlib import Path

_PREFIX = "linkmend-"
_SOCKET = "office"


class RunDirectory:
    """A folder of this process, and the socket in it that is listened on."""

    def __init__(self, parent: Path | None = None) -> None:
        """Raises OSError."""
        parent = parent or _place()
        _sweep(parent)
        # mkdtemp makes it for its owner alone; its number tells whose it is.
        self._directory = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=parent))
        self.path = self._directory / _SOCKET
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(self.path))
        self.path.chmod(0o600)
        self.listener.listen(128)

    def remove(self) -> None:
        self.listener.close()
        shutil.rmtree(self._directory, ignore_errors=True)


def _place() -> Path:
    for name in ("RUNTIME_DIRECTORY", "XDG_RUNTIME_DIR"):
        place = os.environ.get(name, "").split(":")[0]
        if place and os.access(place, os.W_OK):
            return Path(place)
    return Path(tempfile.gettempdir())


def _sweep(parent: Path) -> None:
    """Remove the folders of processes of ours that are no more."""
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
