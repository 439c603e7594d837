"""Waiting for slow readers, where there is anything to wait for.

After every piece of data mitmproxy asks each connection whether what was written to it has gone out, through a lock
and a coroutine each. Mostly it has, and the connection is well: then there is nothing to ask. That one is broken is
noticed by asking, too.
"""

import asyncio

from mitmproxy.proxy.server import ConnectionHandler

from proxy.errors import StartError

_drain_writers = ConnectionHandler.drain_writers


async def drain_writers(self: ConnectionHandler) -> None:
    for io in self.transports.values():
        writer = io.writer
        if writer is None:
            continue
        if not _is_well(writer, io.reader):
            await _drain_writers(self)
            return


def _is_well(writer: object, reader: object) -> bool:
    return (
        isinstance(writer, asyncio.StreamWriter)
        and not writer.transport.get_write_buffer_size()
        and not writer.is_closing()
        and isinstance(reader, asyncio.StreamReader)
        and reader.exception() is None
    )


def install() -> None:
    """Have mitmproxy wait only for who has to be waited for. Raises StartError when its internals have changed."""
    if not asyncio.iscoroutinefunction(_drain_writers):
        raise StartError("this mitmproxy is not supported: ConnectionHandler.drain_writers is no coroutine")
    ConnectionHandler.drain_writers = drain_writers  # type: ignore[method-assign]
