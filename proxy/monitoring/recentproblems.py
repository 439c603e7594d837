"""The last warnings and errors, kept in memory for the admin pages in addition to the log."""

import logging
from collections import deque
from datetime import UTC, datetime

from msgspec import Struct

from proxy.logs import one_line

_KEPT = 100
_MAX_TEXT = 500
LOG_ONLY = {"is_log_only": True}
"""The `extra` of a log call whose line the desk never repeats: who reads the desk has long done what it asks for."""


class LoggedProblem(Struct, frozen=True, kw_only=True):
    """One line of the log."""

    at: datetime
    level: str
    source: str
    text: str


class RecentProblems(logging.Handler):
    """A logging handler for warnings and errors; bounded, and never blocks."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._last: deque[LoggedProblem] = deque(maxlen=_KEPT)

    def emit(self, record: logging.LogRecord) -> None:
        if getattr(record, "is_log_only", False):
            return
        try:
            text = record.getMessage()
        except (TypeError, ValueError):  # a message that does not fit its arguments
            text = str(record.msg)
        if record.exc_info and record.exc_info[1] is not None:
            text = f"{text}: {record.exc_info[1]!r}"
        self._last.append(
            LoggedProblem(
                at=datetime.fromtimestamp(record.created, UTC),
                level=record.levelname.lower(),
                source=record.name[:100],
                text=one_line(text[:_MAX_TEXT]),
            )
        )

    def take(self) -> tuple[LoggedProblem, ...]:
        """Remove and return the problems, oldest first."""
        taken = []
        while self._last:
            taken.append(self._last.popleft())
        return tuple(taken)

    def add(self, problem: LoggedProblem) -> None:
        """Add a problem that another process has logged."""
        self._last.append(problem)

    def latest(self) -> tuple[LoggedProblem, ...]:
        """The newest first."""
        return tuple(self._last)[::-1]
