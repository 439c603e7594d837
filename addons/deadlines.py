"""No reader waits for ever: an origin that does not connect, answer or go on in time is given up.

A person does not wait long for a page. Scripts do: with long polling a site answers when there is news, and only
then. So what is no page, and would not be repaired, has the site's own time, within a bound.

mitmproxy itself waits for the operating system (minutes) to connect and for ten minutes for an answer. Here every
forwarded request is looked at once its time may be over; if it is, the tasks that hold the connections to that origin
are cancelled, which mitmproxy reports like any failed connection, and addons/failures.py answers. All is measured by
a clock that nobody sets: mitmproxy's own time stamps are of the time of day.

Nearly all requests are answered long before, so they stand in one line with one timer for the first of them: to set
and cancel a timer for each would cost more than all else here.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from mitmproxy import ctx, http
from mitmproxy.connection import Client, Server
from mitmproxy.proxy.server_hooks import ServerConnectionHookData

from addons.flows import TIMED_OUT, request_of
from proxy.readers.navigation import asks_for_repair
from proxy.settings import ProxySettings

_SENT_AT = "linkmend_sent_at"
_HELD_UP = "linkmend_held_up"
_EARLY_S = 0.01  # a timer may wake a moment before its time
_LATE_S = 0.5
_READ_S = 0.5
"""Who is looked at so late was held up with this process: what came meanwhile lies unread, and is read first."""


def _mitmproxys_handler(flow: http.HTTPFlow) -> Any:
    """mitmproxy's handler of the client's connection, or None when it is gone or the flow is a replay."""
    server = ctx.master.addons.get("proxyserver")
    return server.connections.get(flow.client_conn.id) if server else None


class Deadlines:
    """Watches over connecting, the first byte, and a body that we hold back while it arrives."""

    def __init__(
        self, settings: ProxySettings, handler_of: Callable[[http.HTTPFlow], Any] = _mitmproxys_handler
    ) -> None:
        self._settings = settings
        self._handler_of = handler_of
        self._line: OrderedDict[str, tuple[float, http.HTTPFlow]] = OrderedDict()
        """Requests under way that were not looked at yet, by when they are to be."""
        self._round: asyncio.TimerHandle | None = None
        """For the first in the line."""
        self._again: dict[str, asyncio.TimerHandle] = {}
        """For each that was looked at and has some time left."""
        self._connected_at: WeakKeyDictionary[Server, float] = WeakKeyDictionary()

    @property
    def settings(self) -> ProxySettings:
        return self._settings

    @settings.setter
    def settings(self, settings: ProxySettings) -> None:
        """Those under way are looked at now, and again by the new times: the line is in order for one set only."""
        self._settings = settings
        waiting = [flow for _, flow in self._line.values()]
        self._line.clear()
        for flow in waiting:
            self._check(flow)

    def server_connected(self, data: ServerConnectionHookData) -> None:
        self._connected_at[data.server] = time.monotonic()

    def request(self, flow: http.HTTPFlow) -> None:
        if flow.response is not None:
            return
        # Later than the client's request if that had to wait for another.
        now = flow.metadata[_SENT_AT] = time.monotonic()
        sooner_s = min(self.settings.connect_timeout_s, self.settings.first_byte_timeout_s)
        self._line[flow.id] = (now + sooner_s, flow)
        if self._round is None:
            self._go_round_in(sooner_s)

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        # A body that is streamed may rest as long as its reader likes; one that we hold back must go on.
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
        self._line.clear()

    def _go_round_in(self, delay_s: float) -> None:
        self._round = asyncio.get_running_loop().call_later(delay_s, self._go_round)

    def _go_round(self) -> None:
        """Look at those whose time may be over."""
        self._round = None
        while self._line:
            due_at, flow = next(iter(self._line.values()))
            left_s = due_at - time.monotonic()
            if left_s > _EARLY_S:
                self._go_round_in(left_s)
                return
            del self._line[flow.id]
            self._check(flow)

    def _forget(self, flow: http.HTTPFlow) -> None:
        self._line.pop(flow.id, None)
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
        """Before the answer: a connection that is not open has less time than one that is."""
        transports = self._origin_transports(flow)
        asked_at = flow.metadata[_SENT_AT]
        if any(io.writer is None for io in transports):
            ends_at = asked_at + self.settings.connect_timeout_s
        else:
            connected_at = self._connected_at.get(flow.server_conn, 0.0)
            ends_at = max(asked_at, connected_at) + self._patience_s(flow)
        self._give_up_at(ends_at, flow)

    def _check_progress(self, flow: http.HTTPFlow) -> None:
        """While a body arrives: the connection's watchdog knows when anything last happened on it."""
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
        if left_s < -_LATE_S and not flow.metadata.get(_HELD_UP):
            flow.metadata[_HELD_UP] = True
            left_s = _READ_S
        if left_s > _EARLY_S:
            self._again[flow.id] = asyncio.get_running_loop().call_later(left_s, self._check, flow)
        else:
            self._give_up(flow, [io.handler for io in self._origin_transports(flow) if io.handler])

    def _give_up(self, flow: http.HTTPFlow, tasks: list[asyncio.Task[None]]) -> None:
        flow.metadata[TIMED_OUT] = True
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
