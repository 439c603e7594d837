"""The last warnings and errors, kept in memory for the desk beside being logged."""

import logging
from collections import deque
from datetime import UTC, datetime

from msgspec import Struct

from proxy.logs import one_line

_KEPT = 100
_MAX_TEXT = 500


class Logged(Struct, frozen=True, kw_only=True):
    """One line of the log."""

    at: datetime
    level: str
    source: str
    text: str


class RecentProblems(logging.Handler):
    """Takes part in logging from warnings on; bounded, and never in anybody's way."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._last: deque[Logged] = deque(maxlen=_KEPT)

    def emit(self, record: logging.LogRecord) -> None:
        try:
            text = record.getMessage()
        except (TypeError, ValueError):  # a message that does not fit its arguments
            text = str(record.msg)
        if record.exc_info and record.exc_info[1] is not None:
            text = f"{text}: {record.exc_info[1]!r}"
        self._last.append(
            Logged(
                at=datetime.fromtimestamp(record.created, UTC),
                level=record.levelname.lower(),
                source=record.name[:100],
                text=one_line(text[:_MAX_TEXT]),
            )
        )

    def take(self) -> tuple[Logged, ...]:
        """The oldest first; from now on they are somebody else's to keep."""
        taken = []
        while self._last:
            taken.append(self._last.popleft())
        return tuple(taken)

    def hear(self, problem: Logged) -> None:
        """Keep what another process has logged."""
        self._last.append(problem)

    def latest(self) -> tuple[Logged, ...]:
        """The newest first."""
        return tuple(self._last)[::-1]
