"""What to do with a file that is damaged: keep it, out of the way, and begin anew."""

from pathlib import Path

_COMPANIONS = ("", "-wal", "-shm")  # of a SQLite database


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
