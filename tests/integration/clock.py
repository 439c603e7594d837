"""A clock that can be set for one process, by libfaketime."""

import os
from pathlib import Path

_CAN_SLEEP = """
import threading, time
time.sleep = lambda seconds: threading.Event().wait(seconds) and None
"""
"""When libfaketime 0.9.10 leaves the monotonic clock alone, each `time.sleep` of Python 3.11 fails with EINVAL."""


def faketime() -> Path | None:
    """The library that fakes the time of a process; None when it is not installed."""
    return next(iter(sorted(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))), None)


class Clock:
    """Sets the time of day of a process started with `environment`. Durations do not change."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._at_start = path.with_name(f"{path.name}-at-start")
        self._at_start.mkdir()
        (self._at_start / "sitecustomize.py").write_text(_CAN_SLEEP, encoding="ascii")
        self.set(0)

    def set(self, off_s: int) -> None:
        """Set the clock so many seconds ahead of the true time, or behind it."""
        fresh = self._path.with_suffix(".new")
        fresh.write_text(f"{off_s:+d}s\n", encoding="ascii")
        fresh.replace(self._path)  # it is read at every clock access, and must never be empty

    @property
    def environment(self) -> dict[str, str]:
        return {
            "LD_PRELOAD": str(faketime()),
            "FAKETIME_TIMESTAMP_FILE": str(self._path),
            "FAKETIME_NO_CACHE": "1",
            "DONT_FAKE_MONOTONIC": "1",
            "PYTHONPATH": os.pathsep.join(filter(None, (str(self._at_start), os.environ.get("PYTHONPATH")))),
        }
