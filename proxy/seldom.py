"""A warning that outsiders can cause a thousand times a second is written once a minute, with how often it came."""

import logging
import time
from collections.abc import Callable

_EVERY_S = 60.0


class Seldom:
    """Writes one kind of warning at most once a minute."""

    def __init__(self, log: logging.Logger, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._log = log
        self._clock = clock
        self._quiet_until = float("-inf")
        self._unwritten = 0

    def warn(self, message: str, *arguments: object) -> None:
        now = self._clock()
        if now < self._quiet_until:
            self._unwritten += 1
            return
        more = f" (and {self._unwritten} times more before)" if self._unwritten else ""
        self._log.warning(message + more, *arguments)
        self._quiet_until, self._unwritten = now + _EVERY_S, 0
