"""No reader waits for ever: an origin that does not connect, answer or go on in time is given up.

mitmproxy itself waits for the operating system (minutes) to connect and for ten minutes for an answer. Here a
timer runs with each forwarded request; when it ends, the tasks that hold the connections to that origin are
cancelled, which mitmproxy reports like any failed connection, and addons/failures.py answers. All is measured by
a clock that nobody sets: mitmproxy's own time stamps are of the time of day.
"""

import asyncio
import time
from typing import Any
from weakref import WeakKeyDictionary

from mitmproxy import ctx, http
from mitmproxy.connection import Client, Server
from mitmproxy.proxy.server_hooks import ServerConnectionHookData

from addons.flows import TIMED_OUT
from proxy.settings import ProxySettings

_SENT_AT = "linkmend_sent_at"
_EARLY_S = 0.01  # a timer may wake a moment before its time


class Deadlines:
    """Timers for connecting, for the first byte, and for a body that we hold back while it arrives."""

    def __init__(self, settings: ProxySettings) -> None:
        self.settings = settings
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._connected_at: WeakKeyDictionary[Server, float] = WeakKeyDictionary()

    def server_connected(self, data: ServerConnectionHookData) -> None:
        self._connected_at[data.server] = time.monotonic()

    def request(self, flow: http.HTTPFlow) -> None:
        if flow.response is None:
            # Later than the client's request if that had to wait for another.
            flow.metadata[_SENT_AT] = time.monotonic()
            sooner_s = min(self.settings.connect_timeout_s, self.settings.first_byte_timeout_s)
            self._arm(flow, sooner_s, self._check_answered)

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        if flow.id not in self._timers:
            return  # an answer of our own: nobody is waited for
        self._disarm(flow)
        # A body that is streamed may rest as long as its reader likes; one that we hold back must go on.
        if flow.response is not None and not flow.response.stream:
            self._arm(flow, self.settings.first_byte_timeout_s, self._check_progress)

    def response(self, flow: http.HTTPFlow) -> None:
        self._disarm(flow)

    def error(self, flow: http.HTTPFlow) -> None:
        self._disarm(flow)

    def done(self) -> None:
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def _arm(self, flow: http.HTTPFlow, delay_s: float, check: Any) -> None:
        self._timers[flow.id] = asyncio.get_running_loop().call_later(delay_s, check, flow)

    def _disarm(self, flow: http.HTTPFlow) -> None:
        timer = self._timers.pop(flow.id, None)
        if timer is not None:
            timer.cancel()

    def _check_answered(self, flow: http.HTTPFlow) -> None:
        """Before the answer: a connection that is not open has less time than one that is."""
        self._timers.pop(flow.id, None)
        transports = self._origin_transports(flow)
        asked_at = flow.metadata[_SENT_AT]
        if any(io.writer is None for io in transports):
            ends_at = asked_at + self.settings.connect_timeout_s
        else:
            connected_at = self._connected_at.get(flow.server_conn, 0.0)
            ends_at = max(asked_at, connected_at) + self.settings.first_byte_timeout_s
        self._give_up_at(ends_at, flow, self._check_answered)

    def _check_progress(self, flow: http.HTTPFlow) -> None:
        """While a body arrives: the connection's watchdog knows when anything last happened on it."""
        self._timers.pop(flow.id, None)
        handler = _handler(flow)
        if handler is not None and flow.response is not None and not flow.response.stream:
            ends_at = handler.timeout_watchdog.last_activity + self.settings.first_byte_timeout_s
            self._give_up_at(ends_at, flow, self._check_progress)

    def _give_up_at(self, ends_at: float, flow: http.HTTPFlow, check: Any) -> None:
        left_s = ends_at - time.monotonic()
        if left_s > _EARLY_S:
            self._arm(flow, left_s, check)
        else:
            self._give_up(flow, [io.handler for io in self._origin_transports(flow) if io.handler])

    def _give_up(self, flow: http.HTTPFlow, tasks: list[asyncio.Task[None]]) -> None:
        flow.metadata[TIMED_OUT] = True
        for task in tasks:
            task.cancel("timed out")

    def _origin_transports(self, flow: http.HTTPFlow) -> list[Any]:
        """The transports of this client's connection that lead to the origin (or parent) the flow waits for."""
        handler = _handler(flow)
        if handler is None:
            return []
        wanted = {(flow.request.host, flow.request.port)}
        if flow.server_conn.via:
            wanted.add(flow.server_conn.via[1])
        return [
            io
            for connection, io in handler.transports.items()
            if not isinstance(connection, Client) and connection.address in wanted
        ]


def _handler(flow: http.HTTPFlow) -> Any:
    """mitmproxy's handler of the client's connection, or None when it is gone or the flow is a replay."""
    server = ctx.master.addons.get("proxyserver")
    return server.connections.get(flow.client_conn.id) if server else None
