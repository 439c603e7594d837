"""The PROXY protocol, versions 1 and 2: a load balancer says first which client a connection is from.

It stands before the first byte of the client, so that it holds for https and tunnels too, and no client can add one
of its own, as it can add an X-Forwarded-For.
"""

import asyncio
import ipaddress
import re
import struct

Address = tuple[str, int] | tuple[str, int, int, int]
"""An address as sockets have it."""

_SIGNATURE = b"\r\n\r\n\x00\r\nQUIT\n"
_TEXT = re.compile(
    rb"PROXY (?:(UNKNOWN)(?: [^\r\n]*)?|TCP([46]) ([0-9a-fA-F.:]+) [0-9a-fA-F.:]+ ([0-9]{1,5}) [0-9]{1,5})"
)
_MAX_TEXT = 107
_MAX_BINARY = 4_096
_LOCAL, _PROXY = 0x20, 0x21
_TCP4, _TCP6, _UNSPECIFIED = 0x11, 0x21, 0x00


class NoProxyHeader(ValueError):
    """A connection that does not begin with who it is from."""


async def read_client(reader: asyncio.StreamReader) -> Address | None:
    """The address of the client for whom a balancer connects; None when it connects for itself, as for a check.

    Raises NoProxyHeader. What follows stays unread.
    """
    try:
        beginning = await reader.readexactly(len(_SIGNATURE))
        if beginning == _SIGNATURE:
            command, family, length = struct.unpack("!BBH", await reader.readexactly(4))
            if length > _MAX_BINARY:
                raise NoProxyHeader("too long")
            return _binary(command, family, await reader.readexactly(length))
        if not beginning.startswith(b"PROXY "):
            raise NoProxyHeader("no PROXY header")
        return _text(beginning + await reader.readuntil(b"\r\n"))
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
        raise NoProxyHeader("no whole PROXY header") from error


def _text(line: bytes) -> Address | None:
    found = _TEXT.fullmatch(line.removesuffix(b"\r\n"))
    if found is None or len(line) > _MAX_TEXT:
        raise NoProxyHeader("no PROXY header of version 1")
    unknown, version, address, port = found.groups()
    return None if unknown else _address(address.decode(), int(port), version=int(version))


def _binary(command: int, family: int, block: bytes) -> Address | None:
    if command == _LOCAL or (command == _PROXY and family == _UNSPECIFIED):
        return None
    size = {_TCP4: 4, _TCP6: 16}.get(family)
    if command != _PROXY or size is None or len(block) < 2 * size + 4:
        raise NoProxyHeader("no PROXY header of version 2")
    address = ipaddress.ip_address(block[:size])
    return _address(str(address), int.from_bytes(block[2 * size : 2 * size + 2]), version=address.version)


def _address(text: str, port: int, *, version: int) -> Address:
    try:
        address = ipaddress.ip_address(text)
    except ValueError as error:
        raise NoProxyHeader("no address") from error
    if address.version != version or port > 65_535:
        raise NoProxyHeader("no address")
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    if isinstance(address, ipaddress.IPv4Address) or mapped is not None:
        return (str(mapped or address), port)  # rules name clients by IPv4 by that
    return (str(address), port, 0, 0)
