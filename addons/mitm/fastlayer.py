"""The fast path's HTTP layer: answers a request before mitmproxy parses it.

While an HTTP/1 connection is idle, each piece of data first goes to the fast path (addons/fastpath.py). Its response
is sent at once, without a flow. Otherwise the same bytes go to mitmproxy's layer, and so does everything else until
the connection is idle again. So a request that arrives in pieces is never answered here.

If the response may be on disk, the layer waits until it was read: what the client sends meanwhile is handled
afterwards, all else at once.

mitmproxy builds its layers in many places; `with_fast_path` turns those for HTTP into ours once the `next_layer` hook
has chosen them. `check` looks at the internals this relies on.
"""

import logging
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

from mitmproxy.connection import Client, Connection
from mitmproxy.proxy import commands, events, layer, tunnel
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers.http import HttpLayer, HTTPMode
from mitmproxy.proxy.layers.http._http1 import Http1Server

from addons.mitm.bufferlimits import AHEAD_BYTES
from proxy.errors import StartError
from proxy.headers.fastrequest import PlainRequest
from proxy.reach.identity import identify

log = logging.getLogger(__name__)

_DEFAULT_PORTS = {"http": 80, "https": 443}
_MODES = frozenset({"regular", "upstream"})


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerTarget:
    """What requests on a connection are for: the site at `base`; with None, what each of them names itself.

    `hosts` are the ways to write that site in a Host field; `ourselves` are those for this very proxy. The slow path
    makes the identity of each request by the same function (addons/flows.py).
    """

    base: str | None
    hosts: frozenset[str]
    ourselves: frozenset[str]


@dataclass
class ReadStoredHook(commands.StartHook):
    """The addon of the fast path is to find an answer that is not in memory, and sets `answer` if there is one."""

    request: "UnansweredRequest"


@dataclass(slots=True, kw_only=True, eq=False)
class UnansweredRequest:
    """A request whose answer may be on disk. `request_head` and `url` are what it was read as."""

    client: Client
    request_head: PlainRequest
    url: str
    answer: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    """The disk is being read; `waiting` are the events of the client since, beginning with its request."""

    hook: ReadStoredHook
    waiting: list[events.Event]


Answer = Callable[[Client, LayerTarget, bytes], bytes | UnansweredRequest | None]
"""The whole answer to what has just arrived; a request whose answer must be read from disk; or None."""


class FastPathLayer(HttpLayer):
    """mitmproxy's layer, which asks `answer` first. Made of one of mitmproxy's by `with_fast_path`."""

    answer: Answer
    place: LayerTarget | None
    reading: "_Reading | None" = None

    def handle_event(self, event: events.Event) -> Generator[commands.Command, Any, None]:
        if self.reading is not None:
            return self._handle_while_reading(event, self.reading)
        if type(event) is events.DataReceived and self.place is not None and self.is_idle(event.connection):
            answered = self._try_answer(event.data)
            if isinstance(answered, bytes):
                return _send(event.connection, answered)
            if answered is not None:
                return self._read(event, answered)
        return super().handle_event(event)

    def _read(
        self, event: events.DataReceived, request: UnansweredRequest
    ) -> Generator[commands.Command, Any, None]:
        hook = ReadStoredHook(request)
        hook.blocking = self  # type: ignore[assignment]  # so that no layer above waits, too
        self.reading = _Reading(hook=hook, waiting=[event])
        yield hook

    def _handle_while_reading(
        self, event: events.Event, reading: "_Reading"
    ) -> Generator[commands.Command, Any, None]:
        """Only the client waits: what an origin sends now comes before the request, and must not answer it."""
        if isinstance(event, events.CommandCompleted) and event.command is reading.hook:
            self.reading = None
            yield from self._go_on(reading)
        elif isinstance(event, events.ConnectionEvent) and event.connection is self.context.client:
            reading.waiting.append(event)
            if (
                sum(len(each.data) for each in reading.waiting if isinstance(each, events.DataReceived))
                > AHEAD_BYTES
            ):
                yield commands.CloseConnection(event.connection)
        else:
            yield from super().handle_event(event)

    def _go_on(self, reading: "_Reading") -> Generator[commands.Command, Any, None]:
        first, *rest = reading.waiting
        answer = reading.hook.request.answer
        if answer is not None:
            yield commands.SendData(self.context.client, answer)
        else:
            yield from super().handle_event(first)
        for event in rest:
            yield from self.handle_event(event)

    def answer_at_once(self, data: bytes) -> bytes | None:
        """The whole answer to what has arrived on an idle connection, unless it must be waited for."""
        answered = self._try_answer(data)
        return answered if isinstance(answered, bytes) else None

    def is_idle(self, connection: Connection) -> bool:
        """Whether nothing is under way with the client, and nothing of a request has arrived before."""
        server = self.connections.get(connection)
        return (
            type(server) is Http1Server
            and self.reading is None
            and not server.buf
            and server.state == server.read_headers
            and connection is self.context.client
        )

    def _try_answer(self, data: bytes) -> bytes | UnansweredRequest | None:
        try:
            return self.answer(self.context.client, self.place, data)  # type: ignore[arg-type]
        except Exception:  # whatever fails there, there is another way to answer
            log.exception("fast path failed")
            return None


def _send(connection: Any, data: bytes) -> Generator[commands.Command, Any, None]:
    yield commands.SendData(connection, data)


def with_fast_path(chosen: layer.Layer | None, answer: Answer) -> None:
    """Give the HTTP layer of a stack that was just chosen, if there is one, to `answer`."""
    while isinstance(chosen, tunnel.TunnelLayer):
        chosen = chosen.child_layer
    if type(chosen) is HttpLayer:
        chosen.__class__ = FastPathLayer
        layer_with_answer: Any = chosen
        layer_with_answer.answer = answer
        layer_with_answer.place = place_of(chosen.context, chosen.mode)


def place_of(context: Context, mode: HTTPMode) -> LayerTarget | None:
    """None where the site is not known for sure from the connection and the request line."""
    client, server = context.client, context.server
    if client.proxy_mode.type_name not in _MODES:
        return None
    host, port = client.sockname[:2]
    ourselves = _host_spellings("http", host.removeprefix("::ffff:"), port)
    if mode is not HTTPMode.transparent:
        return LayerTarget(base=None, hosts=frozenset(), ourselves=ourselves)
    if server.address is None:
        return None
    name, port = server.address[:2]
    scheme, sni = ("https", client.sni) if server.tls else ("http", None)
    identity = identify(scheme=scheme, host=name, port=port, sni=sni)
    if identity.contradicted or (identity.scheme == "http" and identity.authority in ourselves):
        return None
    return LayerTarget(base=identity.base, hosts=frozenset({identity.authority}), ourselves=ourselves)


def _host_spellings(scheme: str, host: str, port: int) -> frozenset[str]:
    full = f"{host}:{port}"
    return frozenset({full, host} if port == _DEFAULT_PORTS[scheme] else {full})


def check() -> None:
    """Raises StartError when mitmproxy's internals have changed."""
    missing = [
        name
        for kind, names in (
            (HttpLayer, ("handle_event", "event_to_child")),
            (Http1Server, ("read_headers",)),
        )
        for name in names
        if not callable(getattr(kind, name, None))
    ]
    if missing or not hasattr(HTTPMode, "transparent"):
        raise StartError(f"this mitmproxy is not supported: its HTTP layer has no {', '.join(missing)}")
