"""Log lines that outsiders, or a lasting fault such as a full disk, could cause a thousand times a second."""

import logging
import time
from collections.abc import Callable

_EVERY_S = 60.0


class RateLimitedLogger:
    """Writes one kind of line at most once a minute, with how often it came in between.

    Threads may share it: at worst a line is written twice.
    """

    def __init__(self, log: logging.Logger, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._log = log
        self._clock = clock
        self._quiet_until = float("-inf")
        self._unwritten = 0

    def warning(self, message: str, *arguments: object) -> None:
        """Write a warning, or count it for the next time."""
        self._write(logging.WARNING, message, arguments)

    def error(self, message: str, *arguments: object) -> None:
        """The same for an error."""
        self._write(logging.ERROR, message, arguments)

    def _write(self, level: int, message: str, arguments: tuple[object, ...]) -> None:
        now = self._clock()
        if now < self._quiet_until:
            self._unwritten += 1
            return
        more = f" (and {self._unwritten} times since the last such line)" if self._unwritten else ""
        self._quiet_until, self._unwritten = now + _EVERY_S, 0
        self._log.log(level, message + more, *arguments)
