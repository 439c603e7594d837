"""Timeouts for origins that do not connect, answer or continue in time.

A user does not wait long for a page. Scripts do: with long polling a site answers only when there is news. So
requests that are no page, and would not be repaired, get a much longer timeout.

mitmproxy itself waits minutes for a connection (the operating system's limit) and ten minutes for a response. Here
every forwarded request is checked when its timeout may be over. If it is, the tasks of the connections to that origin
are cancelled. mitmproxy reports that like any failed connection, and addons/failures.py answers. All times are
monotonic; mitmproxy's own time stamps are times of day.

Nearly all requests are answered long before, so they wait in one queue with one timer for the first: a timer for each
would cost more than everything else here.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

from mitmproxy import ctx, http
from mitmproxy.connection import Client, Server
from mitmproxy.proxy.server_hooks import ServerConnectionHookData

from addons.flows import request_of
from addons.flowstate import state_of
from proxy.headers.navigation import asks_for_repair
from proxy.settings import ProxySettings
from proxy.timers import PatientTimer

_EARLY_S = 0.01  # a timer may wake a moment before its time


def _mitmproxys_handler(flow: http.HTTPFlow) -> Any:
    """mitmproxy's handler of the client's connection, or None when it is gone or the flow is a replay."""
    server = ctx.master.addons.get("proxyserver")
    return server.connections.get(flow.client_conn.id) if server else None


class Deadlines:
    """Timeouts for connecting, for the first byte, and for a body that we buffer."""

    def __init__(
        self, settings: ProxySettings, handler_of: Callable[[http.HTTPFlow], Any] = _mitmproxys_handler
    ) -> None:
        self._settings = settings
        self._handler_of = handler_of
        self._queue: OrderedDict[str, tuple[float, http.HTTPFlow]] = OrderedDict()
        """Requests in flight that were not checked yet, by the time of their check."""
        self._round: PatientTimer | None = None
        """The timer for the first in the queue."""
        self._again: dict[str, PatientTimer] = {}
        """Timers for requests that were checked and have time left."""
        self._connected_at: WeakKeyDictionary[Server, float] = WeakKeyDictionary()

    @property
    def settings(self) -> ProxySettings:
        return self._settings

    @settings.setter
    def settings(self, settings: ProxySettings) -> None:
        """Check all requests in flight now, and again by the new timeouts: the queue is sorted for one set only."""
        self._settings = settings
        waiting = [flow for _, flow in self._queue.values()]
        self._queue.clear()
        for flow in waiting:
            self._check(flow)

    def server_connected(self, data: ServerConnectionHookData) -> None:
        self._connected_at[data.server] = time.monotonic()

    def request(self, flow: http.HTTPFlow) -> None:
        if flow.response is not None:
            return
        # Later than the client's request if that had to wait for another.
        now = state_of(flow).sent_at = time.monotonic()
        sooner_s = min(self.settings.connect_timeout_s, self.settings.first_byte_timeout_s)
        self._queue[flow.id] = (now + sooner_s, flow)
        if self._round is None:
            self._go_round_in(sooner_s)

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        # A streamed body may pause as long as its client likes; one that we buffer must continue.
        if flow.response is None or flow.response.stream:
            self._forget(flow)

    def response(self, flow: http.HTTPFlow) -> None:
        self._forget(flow)

    def error(self, flow: http.HTTPFlow) -> None:
        self._forget(flow)

    def done(self) -> None:
        for timer in (*self._again.values(), *([self._round] if self._round else ())):
            timer.cancel()
        self._again.clear()
        self._queue.clear()

    def _go_round_in(self, delay_s: float) -> None:
        self._round = PatientTimer(delay_s, self._go_round)

    def _go_round(self) -> None:
        """Check the requests whose timeout may be over."""
        self._round = None
        while self._queue:
            due_at, flow = next(iter(self._queue.values()))
            left_s = due_at - time.monotonic()
            if left_s > _EARLY_S:
                self._go_round_in(left_s)
                return
            del self._queue[flow.id]
            self._check(flow)

    def _forget(self, flow: http.HTTPFlow) -> None:
        self._queue.pop(flow.id, None)
        timer = self._again.pop(flow.id, None)
        if timer is not None:
            timer.cancel()

    def _check(self, flow: http.HTTPFlow) -> None:
        self._again.pop(flow.id, None)
        if flow.response is None:
            self._check_answered(flow)
        elif not flow.response.stream:
            self._check_progress(flow)

    def _check_answered(self, flow: http.HTTPFlow) -> None:
        """Before the response: connecting has a shorter timeout than waiting."""
        transports = self._origin_transports(flow)
        asked_at = state_of(flow).sent_at or 0.0
        if any(io.writer is None for io in transports):
            ends_at = asked_at + self.settings.connect_timeout_s
        else:
            connected_at = self._connected_at.get(flow.server_conn, 0.0)
            ends_at = max(asked_at, connected_at) + self._patience_s(flow)
        self._give_up_at(ends_at, flow)

    def _check_progress(self, flow: http.HTTPFlow) -> None:
        """While a body arrives: the connection's watchdog knows the time of the last activity."""
        handler = self._handler_of(flow)
        if handler is not None:
            self._give_up_at(handler.timeout_watchdog.last_activity + self._patience_s(flow), flow)

    def _patience_s(self, flow: http.HTTPFlow) -> float:
        request = request_of(flow)
        if asks_for_repair(request.method, request.headers):
            return self.settings.first_byte_timeout_s
        return max(self.settings.idle_timeout_s, self.settings.first_byte_timeout_s)

    def _give_up_at(self, ends_at: float, flow: http.HTTPFlow) -> None:
        left_s = ends_at - time.monotonic()
        if left_s > _EARLY_S:
            self._again[flow.id] = PatientTimer(left_s, partial(self._check, flow))
        else:
            self._give_up(flow, [io.handler for io in self._origin_transports(flow) if io.handler])

    def _give_up(self, flow: http.HTTPFlow, tasks: list[asyncio.Task[None]]) -> None:
        state_of(flow).timed_out = True
        for task in tasks:
            task.cancel("timed out")

    def _origin_transports(self, flow: http.HTTPFlow) -> list[Any]:
        """The transports of this client's connection that lead to the origin (or parent) the flow waits for."""
        handler = self._handler_of(flow)
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
