"""Room on the disk that is kept for the next start: a file that is only there to be let go.

On a full disk no database can be opened, and a proxy that does not start takes the web away from a whole school. So
some room is set aside while there is plenty. It is let go before stores are opened on a disk without room, and taken
again once they are open, so that the next start finds it too. In between, and until somebody makes room, pages are
passed on and nothing is stored, as whenever a disk fills up.

Who never had the chance to set some aside lets go of bodies in the cache, the oldest first.
"""

import logging
import os
import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

log = logging.getLogger(__name__)

NAME = "ballast"
FULL_BYTES = 1024**2
"""With less than this a disk is called full: SQLite gives up earlier than the last byte."""
_PIECE = 1024**2
_SHARE = 4  # of the free room no more than this part is set aside


class Ballast:
    """The file in a data folder. Blocking. Any process may let it go; one of them holds it.

    What was let go is known by an empty file, to whoever holds it next: all of it is taken back, however little room
    there is otherwise.
    """

    def __init__(self, data: Path, *, size: int) -> None:
        """`size` in bytes: what opening every store of several workers takes, with something to spare."""
        self._data = data
        self._path = data / NAME
        self._size = size
        self._was_full = False

    def release(self) -> None:
        """Before stores are opened: make room for that, if there is none."""
        if free_bytes(self._data) >= self._size:
            return
        with suppress(OSError):
            os.truncate(self._path, 0)
        if self._size and free_bytes(self._data) < FULL_BYTES:
            self._drop_bodies()

    def hold(self) -> None:
        """Once all is open, and now and then: set room aside again, and tell when the disk is full or has room."""
        held = self._held()
        room = self._size if held == 0 else free_bytes(self._data) // _SHARE
        wanted = min(self._size, room) - (held or 0)
        if wanted >= _PIECE:
            self._take(wanted)
        self._tell()

    def _take(self, wanted: int) -> None:
        try:
            with open(self._path, "ab", buffering=0, opener=_private) as file:
                while wanted > 0:
                    # Not zeros, which some file systems keep in no room at all.
                    wanted -= file.write(os.urandom(min(wanted, _PIECE)))
        except OSError as error:
            log.debug("less room is set aside than should be: %s", error)

    def _tell(self) -> None:
        is_full = is_full_disk(self._data)
        if is_full and not self._was_full:
            log.error("the disk of %s is full: pages are passed on, nothing new is kept", self._data)
        elif self._was_full and not is_full:
            log.warning("there is room again on the disk of %s", self._data)
        self._was_full = is_full

    def _held(self) -> int | None:
        """None when nothing was ever set aside."""
        try:
            return self._path.stat().st_size
        except OSError:
            return None

    def _drop_bodies(self) -> None:
        """Remove bodies of the cache; it finds them missing and asks for the pages anew."""
        dropped = 0
        for _, size, path in sorted(_aged((self._data / "cache" / "responses").glob("*/*/*.body"))):
            if dropped >= self._size:
                break
            with suppress(OSError):
                path.unlink()
                dropped += size
        if dropped:
            log.warning("the disk is full: %d bytes of the cache were removed to start at all", dropped)


def free_bytes(folder: Path) -> int:
    """What may still be written to the disk of a folder, which need not be there yet."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return 0


def is_full_disk(folder: Path) -> bool:
    return free_bytes(folder) < FULL_BYTES


def _aged(paths: Iterable[Path]) -> Iterable[tuple[float, int, Path]]:
    for path in paths:
        with suppress(OSError):
            about = path.stat()
            yield about.st_mtime, about.st_size, path


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
