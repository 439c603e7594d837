"""The lock on a store's directory: only a process that is alone there may clean up after a killed one.

Every process holds a shared lock on the lock file while it runs. A process that gets an exclusive lock is alone:
leftover files then belong to no process. A process that is not alone may remove only files unchanged for a day, and
the spool folders of ended processes: each process has its own spool folder, and a lock on it.
"""

import fcntl
import os
import shutil
from pathlib import Path
from secrets import token_hex
from time import time as now

ABANDONED_AFTER_S = 86_400.0


class DirectoryLock:
    """The lock on one directory. If no other process has it, it stays exclusive until `share`."""

    def __init__(self, directory: Path) -> None:
        self._file = open(directory / "lock", "ab")  # noqa: SIM115  held open: closing it releases the lock
        self._spool: int | None = None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.alone = True
        except BlockingIOError:
            fcntl.flock(self._file, fcntl.LOCK_SH)
            self.alone = False
        except OSError:
            self._file.close()
            raise

    def abandoned_before(self) -> float:
        """Unreferenced files whose status changed before this moment may be removed."""
        return float("inf") if self.alone else now() - ABANDONED_AFTER_S

    def share(self) -> None:
        """Lets other processes in, after the cleanup."""
        self.alone = False
        fcntl.flock(self._file, fcntl.LOCK_SH)

    def spool(self, directory: Path) -> Path:
        """A new folder in a directory, locked until `close`; it gets its final name only once it is locked."""
        name = token_hex(8)
        fresh = directory / f".{name}"
        fresh.mkdir(parents=True)
        self._spool = os.open(fresh, os.O_RDONLY)
        fcntl.flock(self._spool, fcntl.LOCK_EX)
        return fresh.rename(directory / name)

    def close(self) -> None:
        self._file.close()
        if self._spool is not None:
            os.close(self._spool)
            self._spool = None


def sweep_spools(directory: Path, *, own: Path, before: float) -> None:
    """Removes the incomplete bodies of killed processes."""
    for spool in directory.iterdir():
        if spool == own or not spool.is_dir():
            continue
        if changed_before(spool, before) if spool.name.startswith(".") else not _is_locked(spool):
            shutil.rmtree(spool, ignore_errors=True)


def _is_locked(directory: Path) -> bool:
    try:
        descriptor = os.open(directory, os.O_RDONLY)
    except OSError:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def changed_before(path: Path, moment: float) -> bool:
    """Compares ctime, which linking and renaming set too; False when the file is gone."""
    try:
        return path.stat().st_ctime < moment
    except OSError:
        return False
