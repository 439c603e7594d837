"""An idle timeout that is immune to changes of the system clock.

mitmproxy measures idle time by the time of day. Computers without a battery-backed clock get the right time some
minutes after they start, and then every open connection would be closed at once.
"""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from typing import Any

from mitmproxy.proxy import server

from proxy.errors import StartError

_USUAL_S = 600
_MARGIN_S = 30
_NEEDED = ("register_activity", "watch", "disarm")


class SteadyWatchdog(server.TimeoutWatchdog):
    """mitmproxy's watchdog; `last_activity` is of `time.monotonic()`."""

    def __init__(self, timeout: int, callback: Callable[[], Awaitable[Any]]) -> None:
        super().__init__(timeout, callback)
        self.register_activity()

    def register_activity(self) -> None:
        self.last_activity = time.monotonic()

    async def watch(self) -> None:
        try:
            while True:
                await self.can_timeout.wait()
                left_s = self.last_activity + self.timeout - time.monotonic()
                if left_s <= 0:
                    await self.callback()
                    return
                await asyncio.sleep(left_s)
        except asyncio.CancelledError:
            return


def allow(idle_s: float) -> None:
    """Have connections that are opened from now on live through a silence of so long, such as of a long poll."""
    server.TCP_TIMEOUT = max(_USUAL_S, math.ceil(idle_s) + _MARGIN_S)


def install() -> None:
    """Have mitmproxy use our watchdog. Raises StartError when its internals have changed."""
    watchdog = getattr(server, "TimeoutWatchdog", None)
    missing = [name for name in _NEEDED if not callable(getattr(watchdog, name, None))]
    if missing or not isinstance(getattr(server, "TCP_TIMEOUT", None), int):
        raise StartError("this mitmproxy is not supported: another TimeoutWatchdog")
    server.TimeoutWatchdog = SteadyWatchdog  # type: ignore[misc]
