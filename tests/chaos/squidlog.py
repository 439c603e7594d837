"""The requests that Squid could not answer: its own log, read as it grows."""

import time
from collections import defaultdict, deque
from dataclasses import dataclass, field
from pathlib import Path

FORMAT = "%ts.%03tu %rm %ru %>Hs %err_code/%err_detail %Ss %<st"
_FINE = ("200", "206", "302", "304", "404")
_REMEMBERED = 20


@dataclass(slots=True)
class SquidLog:
    """Lines of failures by address."""

    path: Path
    _read_to: int = field(default=0, init=False)
    _lines: dict[str, deque[tuple[float, str]]] = field(
        default_factory=lambda: defaultdict(lambda: deque(maxlen=_REMEMBERED)), init=False
    )

    def failed(self, url: str, *, since: float) -> bool:
        """Whether Squid failed for this address since a time (`time.monotonic()`)."""
        return any(True for _ in self.lines(url, since=since))

    def lines(self, url: str, *, since: float) -> list[str]:
        self._read()
        return [line for at, line in self._lines.get(url, ()) if at > since]

    def _read(self) -> None:
        if not self.path.exists():
            return
        ahead = time.time() - time.monotonic()
        with self.path.open("rb") as file:
            file.seek(self._read_to)
            for raw in file:
                if not raw.endswith(b"\n"):
                    break
                self._read_to += len(raw)
                words = raw.decode("latin-1").split()
                if len(words) == 7 and is_failure(*words[3:6]):
                    self._lines[words[2]].append((float(words[0]) - ahead, " ".join(words)))


def is_failure(status: str, error: str, how: str) -> bool:
    """Whether a line has a status of Squid's own, an error, or an incomplete body."""
    return status not in _FINE or error != "-/-" or "ABORTED" in how or "TIMEDOUT" in how
