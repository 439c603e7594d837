"""The output of linkmend: kept in a file, with its end in memory; the roles of its processes; and its faults."""

import re
import time
from collections import deque
from pathlib import Path

_MOST_BYTES = 64 * 1024 * 1024
_AT_HAND = 12_000
_BEFORE, _AFTER = 4, 40
_OF_NOTE = ("Z warning [", "Z error [", "Z critical [", "Traceback", "process ")
_BEGUN = re.compile(r"\b(backend|worker \d) is process (\d+)")
_ENDED = re.compile(r"\(process (\d+)\) ended")


class Log:
    """The log of one run of linkmend; further runs append to the same file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("ab")
        self._lines: deque[tuple[float, str]] = deque(maxlen=_AT_HAND)
        self.pids: dict[str, int] = {}
        self.killed: set[int] = set()
        """Processes that may end, since we ended them."""
        self.begun = 0
        self.backends = 0
        """How often a backend was there to be asked."""
        self._faults: list[float] = []

    def hear(self, raw: bytes) -> None:
        self._write(raw)
        line = raw.decode(errors="replace")
        now = time.monotonic()
        self._lines.append((now, line))
        if found := _BEGUN.search(line):
            self.pids[found[1]] = int(found[2])
            self.begun += 1
        elif found := _ENDED.search(line):
            self._faults += [now] if int(found[1]) not in self.killed else []
        elif "Traceback" in line:
            self._faults.append(now)
        elif line.startswith("linkmend metrics on"):
            self.backends += 1

    def close(self) -> None:
        self._file.close()

    def faults(self) -> list[str]:
        """New tracebacks, and processes that ended although the harness did not end them."""
        faults, self._faults = self._faults, []
        return [self._around(moment) for moment in faults]

    def end(self) -> str:
        return "".join(line for _, line in tuple(self._lines)[-300:])

    def between(self, began: float, ended: float, words: str) -> list[str]:
        """The lines about something between two times, and other notable lines."""
        within = [line.rstrip() for at, line in tuple(self._lines) if began - 1 < at < ended + 1]
        return [
            line for line in within if (words and words in line) or any(sign in line for sign in _OF_NOTE)
        ]

    def _around(self, moment: float) -> str:
        lines = tuple(self._lines)
        first = next((place for place, (at, _) in enumerate(lines) if at >= moment), len(lines))
        return "".join(line for _, line in lines[max(0, first - _BEFORE) : first + _AFTER])

    def _write(self, raw: bytes) -> None:
        """Append to the file; of a long trial only the last few hundred megabytes are kept."""
        self._file.write(raw)
        if self._file.tell() > _MOST_BYTES:
            self._file.close()
            self._path.replace(self._path.with_suffix(".1.log"))
            self._file = self._path.open("ab")
