"""Event loops that end quietly: connections that are still open then are cancelled, which is nobody's failure."""

import asyncio
from typing import Any


def end_quietly(loop: asyncio.AbstractEventLoop) -> None:
    """Python 3.11 logs a traceback for each connection of a server that is cancelled; have it keep that to itself."""
    loop.set_exception_handler(_unless_cancelled)


def is_cancelled(context: dict[str, Any]) -> bool:
    """Whether an event loop tells of nothing but a connection that was ended with us."""
    return isinstance(context.get("exception"), asyncio.CancelledError)


def _unless_cancelled(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    if not is_cancelled(context):
        loop.default_exception_handler(context)
