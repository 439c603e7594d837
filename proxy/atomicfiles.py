"""Atomic file writes: to a temporary file, flushed to the disk, then renamed."""

import os
import tempfile
from contextlib import suppress
from pathlib import Path


def write(path: Path, data: bytes, *, mode: int) -> None:
    """Replace a file with `data`; its permissions and group stay, a new one gets `mode`. Raises OSError."""
    place = path.resolve()  # a link stays a link
    # A hidden name, so that nobody takes it for a file of rules.
    descriptor, fresh = tempfile.mkstemp(prefix=f".{place.name}.", suffix=".new", dir=place.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            _take_permissions(file.fileno(), place, mode)
            os.fsync(file.fileno())
        os.replace(fresh, place)
    except BaseException:
        with suppress(OSError):
            os.unlink(fresh)
        raise
    _sync_folder(place.parent)


def _take_permissions(descriptor: int, place: Path, mode: int) -> None:
    try:
        before = place.stat()
    except FileNotFoundError:
        os.fchmod(descriptor, mode)
        return
    os.fchmod(descriptor, before.st_mode & 0o777)
    with suppress(PermissionError):
        os.fchown(descriptor, -1, before.st_gid)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
