"""Timeouts for slow clients: for the headers of a request, for uploads, and for idle connections.

mitmproxy reports a request when its headers are complete; before that, only the number of received bytes is known
(addons/mitm/inlinehooks.py). So every connection is checked periodically: one without a request in flight is idle, or
within the headers of the next request. Tunnels and web sockets are exempt, and so is a client that waits for a
response: that is the origin's time (addons/deadlines.py).
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from mitmproxy import connection, ctx, http, tcp

from addons.flowstate import state_of
from proxy.settings import ProxySettings
from proxy.timers import PatientTimer

UPLOAD_BYTES_PER_S = 500
"""Slower than any line; Apache's mod_reqtimeout asks for the same."""
_ROUNDS = 6
"""How often a client is looked at within the shortest of its times."""
_SHORTEST_S, _LONGEST_S = 0.05, 5.0
_UNKNOWN = -1


@dataclass(slots=True)
class _Wait:
    """Since when a client is waited for, and how many bytes it had sent then."""

    since: float
    received: int = _UNKNOWN

    def begin(self, now: float) -> None:
        self.since, self.received = now, _UNKNOWN


@dataclass(slots=True)
class _Watched:
    client: connection.Client
    rest: _Wait
    head: _Wait | None
    """Set while the headers of a request are expected, or are on their way."""
    flows: set[str] = field(default_factory=set)
    uploads: dict[str, _Wait] = field(default_factory=dict)


class SlowClients:
    """Ends the connections of clients that do not come to an end themselves."""

    def __init__(self, settings: ProxySettings, clock: Callable[[], float] = time.monotonic) -> None:
        self.settings = settings
        self._clock = clock
        self._watched: dict[str, _Watched] = {}
        self._round: PatientTimer | None = None

    def client_connected(self, client: connection.Client) -> None:
        if client.error is None:
            now = self._clock()
            self._watched[client.id] = _Watched(client, rest=_Wait(now), head=_Wait(now))
            if self._round is None:
                self._go_round_in(self._every_s())

    def client_disconnected(self, client: connection.Client) -> None:
        self._watched.pop(client.id, None)

    def http_connect(self, flow: http.HTTPFlow) -> None:
        """A tunnel is no request yet: what is to come through it is waited for no longer than anything else."""
        watched = self._watched.get(flow.client_conn.id)
        if watched is not None:
            watched.head = _Wait(self._clock())

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        watched = self._watched.get(flow.client_conn.id)
        if watched is not None and flow.is_replay is None:
            watched.head = None
            watched.flows.add(flow.id)
            if not flow.request.is_http2:
                watched.uploads.clear()  # one after the other; the last may have been answered before it was whole
            watched.uploads[flow.id] = _Wait(self._clock())

    def request(self, flow: http.HTTPFlow) -> None:
        watched = self._watched.get(flow.client_conn.id)
        if watched is not None:
            watched.uploads.pop(flow.id, None)

    def response(self, flow: http.HTTPFlow) -> None:
        if flow.websocket is None:
            self._rest(flow)

    def error(self, flow: http.HTTPFlow) -> None:
        if not state_of(flow).is_answerable:  # otherwise an answer, and with it `response`, follows
            self._rest(flow)

    def tcp_start(self, flow: tcp.TCPFlow) -> None:
        self.leave_alone(flow.client_conn)

    def websocket_start(self, flow: http.HTTPFlow) -> None:
        self.leave_alone(flow.client_conn)

    def leave_alone(self, client: connection.Client) -> None:
        """The client's bytes are tunnelled from now on, in a protocol that we do not know."""
        self._watched.pop(client.id, None)

    def was_answered(self, client: connection.Client) -> None:
        """The client sent a request and has its answer already."""
        watched = self._watched.get(client.id)
        if watched is not None:
            watched.head = None
            watched.rest.begin(self._clock())

    def done(self) -> None:
        if self._round is not None:
            self._round.cancel()
        self._watched.clear()

    def _rest(self, flow: http.HTTPFlow) -> None:
        watched = self._watched.get(flow.client_conn.id)
        if watched is not None:
            watched.flows.discard(flow.id)
            if flow.request.is_http2 or flow.error is not None:
                watched.uploads.pop(flow.id, None)
            watched.rest.begin(self._clock())

    def _every_s(self) -> float:
        shortest_s = min(self.settings.request_timeout_s, self.settings.keep_alive_s)
        return min(max(shortest_s / _ROUNDS, _SHORTEST_S), _LONGEST_S)

    def _go_round_in(self, delay_s: float) -> None:
        self._round = PatientTimer(delay_s, self._go_round, self._clock)

    def _go_round(self) -> None:
        self._round = None
        for watched in tuple(self._watched.values()):
            self._look_at(watched)
        if self._watched:
            self._go_round_in(self._every_s())

    def _look_at(self, watched: _Watched) -> None:
        handler = _handler_of(watched.client)
        if handler is None:
            return
        now, received = self._clock(), getattr(handler.layer, "received", 0)
        is_blocked = _is_blocked(handler)
        for each in tuple(watched.uploads.values()):
            if is_blocked or each.received == _UNKNOWN:
                each.since, each.received = now, received
            elif each.since + self._upload_s(received - each.received) < now:
                self._let_go(watched, handler, "upload too slow")
                return
        if watched.flows or watched.uploads:
            return
        if is_blocked:  # the last answer is still on its way
            watched.rest.since = now
        if watched.rest.received == _UNKNOWN:
            watched.rest.received = received
        # HTTP/2 has frames that belong to no request: there only the rest between requests is known.
        if watched.head is None and received > watched.rest.received and watched.client.alpn != b"h2":
            watched.head = _Wait(now)
        if watched.head is not None:
            ends_at = watched.head.since + self.settings.request_timeout_s
        else:
            ends_at = watched.rest.since + self.settings.keep_alive_s
        if ends_at < now:
            self._let_go(watched, handler, "no request in time")

    def _upload_s(self, received: int) -> float:
        return self.settings.request_timeout_s + received / UPLOAD_BYTES_PER_S

    def _let_go(self, watched: _Watched, handler: Any, why: str) -> None:
        self._watched.pop(watched.client.id, None)
        io = handler.transports.get(watched.client)
        if io is not None and io.handler is not None:
            io.handler.cancel(why)


def _handler_of(client: connection.Client) -> Any:
    """mitmproxy's handler of the client's connection; None when it is gone."""
    server = ctx.master.addons.get("proxyserver")
    return server.connections.get(client.id) if server else None


def _is_blocked(handler: Any) -> bool:
    """Whether anything of this connection waits to be taken by somebody else: an origin, or a client that reads."""
    return any(
        isinstance(io.writer, asyncio.StreamWriter) and io.writer.transport.get_write_buffer_size() > 0
        for io in handler.transports.values()
    )
