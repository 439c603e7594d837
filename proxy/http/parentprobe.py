"""Asks the parent proxy whether it is there: one small request, which a proxy answers out of its own knowledge.

The request is for a test address (RFC 5737) and only for what is cached, so that a proxy needs neither its name
server nor the internet to answer it: when those are gone, the parent is still well.
"""

import asyncio
import os
from dataclasses import dataclass
from enum import StrEnum

from proxy.settings import parent_address

_WITHIN_S = 8.0
_MOST_BYTES = 8_192
_PROBE = (
    b"HEAD http://192.0.2.1/ HTTP/1.1\r\nHost: 192.0.2.1\r\n"
    b"Cache-Control: only-if-cached\r\nUser-Agent: linkmend (checks its parent proxy)\r\nConnection: close\r\n\r\n"
)
# What a proxy says of itself in an answer of its own; a web server says none of it.
_MARKS = ("via:", "x-cache:", "x-squid-error:", "cache-status:", "proxy-")


class ParentState(StrEnum):
    """What a parent is like. While it is `DOWN` or `WRONG`, no page comes in from outside."""

    UP = "up"
    DENIED = "denied"
    """It answers, but refuses the probe: perhaps all our requests, perhaps only this one."""
    WRONG = "wrong"
    """Something answers there that is no proxy."""
    DOWN = "down"


@dataclass(frozen=True, slots=True, kw_only=True)
class ParentProbe:
    """The answer of a parent; `detail` is a reason in words, empty when all is well."""

    state: ParentState
    detail: str = ""

    @property
    def is_usable(self) -> bool:
        return self.state in (ParentState.UP, ParentState.DENIED)


async def probe_parent(url: str, *, within_s: float = _WITHIN_S) -> ParentProbe:
    """Ask the parent given as http://HOST:PORT."""
    try:
        async with asyncio.timeout(within_s):
            reader, writer = await asyncio.open_connection(*parent_address(url))
            try:
                writer.write(_PROBE)
                head = await _read_head(reader)
            finally:
                writer.close()
    except TimeoutError:
        return ParentProbe(state=ParentState.DOWN, detail=f"no answer within {within_s:g} s")
    except OSError as error:
        return ParentProbe(state=ParentState.DOWN, detail=_in_words(error))
    return judge(head)


def judge(head: str) -> ParentProbe:
    """What the head of an answer says of the parent.

    >>> judge("HTTP/1.1 504 Gateway Timeout\\r\\nVia: 1.1 squid").state.value
    'up'
    >>> judge("HTTP/1.1 404 Not Found\\r\\nServer: nginx").state.value
    'wrong'
    """
    first, *fields = head.split("\r\n")
    words = first.split(" ", 2)
    if not first.startswith("HTTP/") or len(words) < 2 or not words[1].isdecimal():
        return ParentProbe(
            state=ParentState.WRONG, detail="it answers, but not in HTTP" if head else "it hangs up"
        )
    status = int(words[1])
    if status == 407:
        return ParentProbe(
            state=ParentState.DENIED, detail="it wants a user name and password (407), which linkmend has not"
        )
    if any(field.lower().startswith(_MARKS) for field in fields):
        denied = status in (401, 403)
        detail = f"it refuses this machine, or at least the test address ({status})" if denied else ""
        return ParentProbe(state=ParentState.DENIED if denied else ParentState.UP, detail=detail)
    if status < 500:
        return ParentProbe(state=ParentState.WRONG, detail=f"it answers like a web server ({status})")
    return ParentProbe(state=ParentState.UP)


async def _read_head(reader: asyncio.StreamReader) -> str:
    """What comes up to the first empty line, or so much that it cannot be a head."""
    head = b""
    while b"\r\n\r\n" not in head and len(head) < _MOST_BYTES:
        piece = await reader.read(_MOST_BYTES)
        if not piece:
            break
        head += piece
        if not head.startswith(b"HTTP/"[: len(head)]):
            break
    return head.partition(b"\r\n\r\n")[0].decode("latin-1")


def _in_words(error: OSError) -> str:
    if error.errno is not None and error.errno > 0:  # asyncio's own text names addresses
        return os.strerror(error.errno).lower()
    return (error.strerror or str(error)).partition("\n")[0][:200]
