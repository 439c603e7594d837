"""A clock that can be set for one process, by libfaketime."""

from pathlib import Path


def faketime() -> Path | None:
    """The library that shows a process another time; None when it is not installed."""
    return next(iter(sorted(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))), None)


class Clock:
    """What a process started with `environment` takes for the time of day. How long things take is not changed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.set(0)

    def set(self, off_s: int) -> None:
        """So many seconds ahead of the true time, or behind it."""
        self._path.write_text(f"{off_s:+d}s\n", encoding="ascii")

    @property
    def environment(self) -> dict[str, str]:
        return {
            "LD_PRELOAD": str(faketime()),
            "FAKETIME_TIMESTAMP_FILE": str(self._path),
            "FAKETIME_NO_CACHE": "1",
            "DONT_FAKE_MONOTONIC": "1",
        }
