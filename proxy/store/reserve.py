"""Disk space reserved for the next start: a file whose only purpose is to be truncated.

On a full disk no database can be opened, and a proxy that does not start cuts a whole school off the web. So linkmend
reserves space while there is plenty. On a full disk it releases the space before it opens the stores, and reserves it
again once they are open, for the next start. Until the admin frees space, pages are forwarded and nothing is stored,
as on any full disk.

Without a reserve, linkmend removes bodies from the cache, the oldest first.
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
"""A disk with less free space counts as full: SQLite fails before the last byte."""
_PIECE = 1024**2
_SHARE = 4  # at most this part of the free space is reserved


class DiskReserve:
    """The file in a data folder. Blocking. Any process may release it; one process holds it.

    An empty file means that the reserve was released: then all of it is taken back, even on a nearly full disk.
    """

    def __init__(self, data: Path, *, size: int) -> None:
        """`size` in bytes: what several workers need to open every store, with some margin."""
        self._data = data
        self._path = data / NAME
        self._size = size
        self._was_full = False

    def release(self) -> None:
        """Free disk space before the stores are opened, if there is none."""
        if free_bytes(self._data) >= self._size:
            return
        with suppress(OSError):
            os.truncate(self._path, 0)
        if self._size and free_bytes(self._data) < FULL_BYTES:
            self._drop_bodies()

    def hold(self) -> None:
        """Reserve space again, once all stores are open and periodically; log when the disk is full or free again."""
        reserved = self._reserved_bytes()
        room = self._size if reserved == 0 else free_bytes(self._data) // _SHARE
        wanted = min(self._size, room) - (reserved or 0)
        if wanted >= _PIECE:
            self._take(wanted)
        self._log_state()

    def _take(self, wanted: int) -> None:
        try:
            with open(self._path, "ab", buffering=0, opener=_private) as file:
                while wanted > 0:
                    # Not zeros, which some file systems store in no space at all.
                    wanted -= file.write(os.urandom(min(wanted, _PIECE)))
        except OSError as error:
            log.debug("disk reserve is smaller than it should be: %s", error)

    def _log_state(self) -> None:
        is_full = is_full_disk(self._data)
        if is_full and not self._was_full:
            log.error("disk full: %s: the proxy runs on, but saves nothing new", self._data)
        elif self._was_full and not is_full:
            log.warning("disk space available again: %s: saving resumed", self._data)
        self._was_full = is_full

    def _reserved_bytes(self) -> int | None:
        """The size of the reserve; None when there never was one."""
        try:
            return self._path.stat().st_size
        except OSError:
            return None

    def _drop_bodies(self) -> None:
        """Remove bodies of the cache, which then fetches those pages again."""
        dropped = 0
        for _, size, path in sorted(_with_age((self._data / "cache" / "responses").glob("*/*/*.body"))):
            if dropped >= self._size:
                break
            with suppress(OSError):
                path.unlink()
                dropped += size
        if dropped:
            log.warning("disk full: removed %d bytes of the cache to be able to start", dropped)


def free_bytes(folder: Path) -> int:
    """Free bytes on the disk of a folder, which need not exist yet."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return 0


def is_full_disk(folder: Path) -> bool:
    return free_bytes(folder) < FULL_BYTES


def _with_age(paths: Iterable[Path]) -> Iterable[tuple[float, int, Path]]:
    for path in paths:
        with suppress(OSError):
            about = path.stat()
            yield about.st_mtime, about.st_size, path


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
