"""Whether something has arrived on a kept connection before it is used again: nobody asked for that."""

import asyncio
import socket


def has_arrived(transport: asyncio.BaseTransport) -> bool:
    """Whether the system holds bytes, or the end, that asyncio has not read yet. Where that cannot be seen, too."""
    shown = transport.get_extra_info("socket")
    own: socket.socket | None = getattr(shown, "_sock", None)
    if own is None or own.fileno() < 0:
        return True
    try:
        own.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return False
    except OSError:
        pass  # it is broken
    return True
