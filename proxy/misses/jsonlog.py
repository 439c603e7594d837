"""misses.jsonl: the miss log as JSON lines for other programs, rotated by size, without old lines.

Appending, rotating and rewriting take a lock file, so that a command can erase while the proxy writes.
"""

import fcntl
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

Line = Mapping[str, object]


class MissJsonLog:
    """One file and one older one beside it (`misses.jsonl.1`), readable by their owner only."""

    def __init__(self, path: Path, *, max_bytes: int) -> None:
        self._path = path
        self._older = path.with_name(path.name + ".1")
        self._lock_path = path.with_name(path.name + ".lock")
        self._max_bytes = max_bytes

    def append(self, lines: Sequence[Line]) -> None:
        """Append all lines in one write, so that none is torn; rotate first if the file would grow too large."""
        data = "".join(json.dumps(line) + "\n" for line in lines).encode("ascii")
        with self._exclusive():
            if self._path.exists() and self._path.stat().st_size + len(data) > self._max_bytes:
                self._path.replace(self._older)
            descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            with os.fdopen(descriptor, "ab", buffering=0) as file:
                file.write(data)

    def keep(self, wanted: Callable[[Line], bool]) -> None:
        """Remove every line that is not wanted or not JSON."""
        self.change(lambda line: line if wanted(line) else None)

    def change(self, changed: Callable[[Line], Line | None]) -> None:
        """Replace each line, or remove it if `changed` returns None; lines that are not JSON are removed."""
        with self._exclusive():
            for path in (self._older, self._path):
                if path.exists():
                    self._rewrite(path, changed)

    def _rewrite(self, path: Path, changed: Callable[[Line], Line | None]) -> None:
        fresh = path.with_name(path.name + ".new")
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with path.open("rb") as old, os.fdopen(descriptor, "wb") as new:
            for line in old:
                event = _parse(line)
                if event is not None and (left := changed(event)) is not None:
                    new.write(line if left == event else (json.dumps(left) + "\n").encode("ascii"))
        fresh.replace(path)

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        descriptor = os.open(self._lock_path, os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def _parse(line: bytes) -> Line | None:
    try:
        event = json.loads(line)
    except ValueError:
        return None
    return event if isinstance(event, dict) else None
