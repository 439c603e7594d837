"""Timers that do not blame others for a pause of this process.

A process that was stopped, swapped out or short of CPU finds its timers late, and what others sent meanwhile still
unread. So what has arrived is read before a timer fires.
"""

import asyncio
import time
from collections.abc import Callable

HELD_UP_S = 0.5
"""A timer that is so late was held up with its process; for as long again, what came meanwhile is read."""


class PatientTimer:
    """Calls once, after a delay on the running event loop; later when the process was held up meanwhile."""

    __slots__ = ("_call", "_clock", "_due_at", "_handle")

    def __init__(
        self, delay_s: float, call: Callable[[], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._call = call
        self._clock = clock
        self._set(delay_s)

    def cancel(self) -> None:
        self._handle.cancel()

    def _set(self, delay_s: float) -> None:
        self._due_at = self._clock() + delay_s
        self._handle = asyncio.get_running_loop().call_later(delay_s, self._ring)

    def _ring(self) -> None:
        if self._clock() - self._due_at > HELD_UP_S:
            self._set(HELD_UP_S)
        else:
            self._call()
