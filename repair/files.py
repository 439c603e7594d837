"""Files: whether one has changed, and damaged ones set aside so that new ones can be started."""

import sqlite3
from pathlib import Path

_COMPANIONS = ("", "-wal", "-shm")  # of a SQLite database
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def is_damage(error: sqlite3.Error) -> bool:
    """Whether an error means a damaged file; a busy, full or unreachable one is not damaged."""
    code = getattr(error, "sqlite_errorcode", None)  # absent where Python itself raises
    return code is not None and code & 0xFF in _DAMAGE


def stamp_of(path: Path) -> tuple[int, ...] | None:
    """A value that changes with a file; None when there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def set_aside(path: Path) -> Path:
    """Rename a damaged database and its logs, so that a new one can be created; returns its new path.

    Nothing is deleted: somebody may yet recover something from it.
    """
    number = 1
    while (aside := path.with_name(f"{path.name}.damaged{number}")).exists():
        number += 1
    for companion in _COMPANIONS:
        part = path.with_name(path.name + companion)
        if part.exists():
            part.rename(aside.with_name(aside.name + companion))
    return aside
