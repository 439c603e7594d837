"""What to do with a file that is damaged: keep it, out of the way, and begin anew."""

import sqlite3
from pathlib import Path

_COMPANIONS = ("", "-wal", "-shm")  # of a SQLite database
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def is_damage(error: sqlite3.Error) -> bool:
    """Whether an error tells of a damaged file; one that is busy, full or out of reach is not damaged."""
    code = getattr(error, "sqlite_errorcode", None)  # absent where Python itself complains
    return code is not None and code & 0xFF in _DAMAGE


def set_aside(path: Path) -> Path:
    """Rename a damaged database and its logs, so that a new one can be begun; where it lies now.

    Nothing is thrown away: somebody may yet get something out of it.
    """
    number = 1
    while (aside := path.with_name(f"{path.name}.damaged{number}")).exists():
        number += 1
    for companion in _COMPANIONS:
        part = path.with_name(path.name + companion)
        if part.exists():
            part.rename(aside.with_name(aside.name + companion))
    return aside
