"""Backpressure: drains only connections with unsent data.

After every piece of data mitmproxy drains each connection, through a lock and a coroutine each. Mostly nothing is
unsent and the connection is fine: then we skip it. Draining also detects broken connections.

An origin that ends an upload with its response (413) may have sent it when our next piece meets a closed connection:
we read the response before we close the connection.
"""

import asyncio
from typing import Any

from mitmproxy.connection import Server
from mitmproxy.proxy import events
from mitmproxy.proxy.server import ConnectionHandler, ConnectionIO

from addons.mitm.http2 import wait_for_others
from proxy.errors import StartError

_LAST_WORDS_BYTES = 256 * 1024
_drain_writers = ConnectionHandler.drain_writers


async def drain_writers(self: ConnectionHandler) -> None:
    for io in self.transports.values():
        writer = io.writer
        if writer is None:
            continue
        if not _is_well(writer, io.reader):
            await _hear_last_words(self)
            await _drain_writers(self)
            break
    await wait_for_others(self)


async def _hear_last_words(self: ConnectionHandler) -> None:
    for connection, io in tuple(self.transports.items()):
        if isinstance(connection, Server) and io.writer is not None and (said := _unread(io)):
            await self.server_event(events.DataReceived(connection, said))


def _unread(io: ConnectionIO) -> bytes:
    """What has arrived on a connection that broke in this moment, and that asyncio would never read."""
    writer, reader = io.writer, io.reader
    if not isinstance(writer, asyncio.StreamWriter) or not writer.is_closing():
        return b""
    own: Any = getattr(writer.transport, "_sock", None)
    if own is None or own.fileno() < 0 or getattr(reader, "_buffer", b""):
        return b""  # what is in the buffer comes first, and is about to be read
    try:
        return bytes(own.recv(_LAST_WORDS_BYTES))
    except OSError:
        return b""


def _is_well(writer: object, reader: object) -> bool:
    return (
        isinstance(writer, asyncio.StreamWriter)
        and not writer.transport.get_write_buffer_size()
        and not writer.is_closing()
        and isinstance(reader, asyncio.StreamReader)
        and reader.exception() is None
    )


def install() -> None:
    """Drain only connections with a response in flight. Raises StartError when its internals have changed."""
    if not asyncio.iscoroutinefunction(_drain_writers):
        raise StartError("this mitmproxy is not supported: ConnectionHandler.drain_writers is no coroutine")
    ConnectionHandler.drain_writers = drain_writers  # type: ignore[method-assign]
