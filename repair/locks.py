"""A lock that at most one process has, and that ends with the process, however it ends."""

import fcntl
import os
from pathlib import Path


def lock_alone(path: Path) -> int | None:
    """The open lock file, to be closed when it is no longer needed; None when another process has it."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    return handle
