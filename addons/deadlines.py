"""No reader waits for ever: an origin that does not connect, answer or go on in time is given up.

mitmproxy itself waits for the operating system (minutes) to connect and for ten minutes for an answer. Here a
timer runs with each forwarded request; when it ends, the tasks that hold the connections to that origin are
cancelled, which mitmproxy reports like any failed connection, and addons/failures.py answers.
"""

import asyncio
import time
from typing import Any

from mitmproxy import ctx, http
from mitmproxy.connection import Client

from addons.flows import TIMED_OUT
from proxy.settings import ProxySettings


class Deadlines:
    """Timers for connecting, for the first byte, and for a body that we hold back while it arrives."""

    def __init__(self, settings: ProxySettings) -> None:
        self.settings = settings
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def request(self, flow: http.HTTPFlow) -> None:
        if flow.response is None:
            self._arm(flow, self.settings.connect_timeout_s, self._check_connected)

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

    def _check_connected(self, flow: http.HTTPFlow) -> None:
        self._timers.pop(flow.id, None)
        tasks = [io.handler for io in self._origin_transports(flow) if io.writer is None and io.handler]
        if tasks:
            self._give_up(flow, tasks)
        else:
            self._arm(flow, self.settings.first_byte_timeout_s, self._check_answered)

    def _check_answered(self, flow: http.HTTPFlow) -> None:
        self._timers.pop(flow.id, None)
        self._give_up(flow, [io.handler for io in self._origin_transports(flow) if io.handler])

    def _check_progress(self, flow: http.HTTPFlow) -> None:
        """While a body arrives: the connection's watchdog knows when anything last happened on it."""
        self._timers.pop(flow.id, None)
        handler = _handler(flow)
        if handler is None:
            return
        limit_s = self.settings.first_byte_timeout_s
        idle_s = time.time() - handler.timeout_watchdog.last_activity
        if idle_s < limit_s:
            self._arm(flow, limit_s - idle_s, self._check_progress)
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
