"""Event loops and servers that end quietly: connections that are open or arrive just then are no errors."""

import asyncio
from typing import Any


def end_quietly(loop: asyncio.AbstractEventLoop) -> None:
    """Python 3.11 logs a traceback for each connection of a server that is cancelled; have it keep that to itself."""
    loop.set_exception_handler(_unless_cancelled)


async def stop_accepting(server: asyncio.Server) -> None:
    """Have a server accept no more connections, once it serves those that it has just accepted.

    Python 3.11 would close it before these are counted, and log a traceback when the last of them ends.
    """
    loop = asyncio.get_running_loop()
    for each in server.sockets:
        loop.remove_reader(each.fileno())
    try:
        await asyncio.sleep(0)
    finally:
        server.close()


def is_cancelled(context: dict[str, Any]) -> bool:
    """Whether an event loop tells of nothing but a connection that was ended with us."""
    return isinstance(context.get("exception"), asyncio.CancelledError)


def _unless_cancelled(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    if not is_cancelled(context):
        loop.default_exception_handler(context)
