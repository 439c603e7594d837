"""Log lines about a lasting trouble, such as a full disk: one a minute, however often it hurts."""

import logging
import time
from collections.abc import Callable


class Complaint:
    """One kind of trouble. Threads may share it: at worst a line is written twice."""

    def __init__(
        self, log: logging.Logger, *, every_s: float = 60.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._log = log
        self._every_s = every_s
        self._clock = clock
        self._said_at: float | None = None
        self._unsaid = 0

    def __call__(self, message: str, *values: object) -> None:
        """Says it as a warning, or counts it for the next time."""
        now = self._clock()
        if self._said_at is not None and now - self._said_at < self._every_s:
            self._unsaid += 1
            return
        again = f" (and {self._unsaid} times since the last such line)" if self._unsaid else ""
        self._said_at, self._unsaid = now, 0
        self._log.warning(message + again, *values)
