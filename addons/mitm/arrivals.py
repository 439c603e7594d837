"""What has arrived from origins and has not been read yet.

An origin that sends more than was asked for must not answer the next request with it. What has arrived before that
request goes out may still lie with the operating system, or with asyncio: a connection with such bytes is not used
again (addons/mitm/originconnections.py). Whether it has any is looked up, not left to the order of events.

Behind another proxy mitmproxy has two connections: the one to the origin runs within the one to that proxy, and only
the latter has a socket.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from mitmproxy.connection import Connection, Server
from mitmproxy.proxy.layers.http._upstream_proxy import HttpUpstreamProxy
from mitmproxy.proxy.server import ConnectionHandler, ConnectionIO

from proxy.errors import StartError
from proxy.http.arrivals import has_arrived

Handle = Callable[[ConnectionHandler, Connection], Awaitable[None]]

_OURS = "linkmend_wrapped"
_CARRIER = "linkmend_carrier"
"""On a connection that runs within another: the id of that other."""

_open: dict[str, ConnectionIO] = {}
"""Connections to origins and other proxies by their id, while somebody reads from them."""


def has_unread(connection: Connection) -> bool:
    """Whether bytes, or the end, have arrived on an open connection to an origin."""
    io = _open.get(vars(connection).get(_CARRIER, connection.id))
    if (
        io is None
        or not isinstance(io.reader, asyncio.StreamReader)
        or not isinstance(io.writer, asyncio.StreamWriter)
    ):
        return False
    return bool(getattr(io.reader, "_buffer", b"")) or io.reader.at_eof() or has_arrived(io.writer.transport)


def _noting(handle: Handle) -> Handle:
    async def handle_connection(self: ConnectionHandler, connection: Connection) -> None:
        if not isinstance(connection, Server):
            return await handle(self, connection)
        _open[connection.id] = self.transports[connection]
        try:
            await handle(self, connection)
        finally:
            _open.pop(connection.id, None)

    return handle_connection


def _naming_carrier(init: Callable[..., None]) -> Callable[..., None]:
    def initialise(self: HttpUpstreamProxy, *args: Any, **kwargs: Any) -> None:
        init(self, *args, **kwargs)
        vars(self.conn)[_CARRIER] = self.tunnel_connection.id

    return initialise


def install() -> None:
    """Note each connection to an origin while it is open. Raises StartError when mitmproxy is not as expected."""
    handle = getattr(ConnectionHandler, "handle_connection", None)
    if not asyncio.iscoroutinefunction(handle):
        raise StartError(
            "this mitmproxy is not supported: ConnectionHandler.handle_connection is no coroutine"
        )
    if not hasattr(handle, _OURS):
        noting = _noting(handle)
        setattr(noting, _OURS, True)
        ConnectionHandler.handle_connection = noting  # type: ignore[method-assign, assignment]
    if not hasattr(HttpUpstreamProxy.__init__, _OURS):
        naming = _naming_carrier(HttpUpstreamProxy.__init__)
        setattr(naming, _OURS, True)
        HttpUpstreamProxy.__init__ = naming  # type: ignore[method-assign]
