"""Keeps our own requests within reach: a socket to an address that may not be reached is not even made.

aiohttp asks for a socket with the very address it is about to connect to, after names were resolved and for every
redirect, so nothing can change between the question and the connection. Which addresses those are, the caller says.

    aiohttp.TCPConnector(socket_factory=guarded_sockets(may_reach))
"""

import socket
from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address, IPv6Network

from aiohttp.connector import AddrInfoType

MayReach = Callable[[str, int], bool]
"""Whether an IP address may be connected to at a port."""

_IN_THE_LAST_32_BITS = tuple(
    map(
        IPv6Network,
        (
            "::/96",  # IPv4-compatible
            "::ffff:0:0/96",  # IPv4-mapped
            "::ffff:0:0:0/96",  # translated (RFC 2765)
            "64:ff9b::/96",  # NAT64
            "64:ff9b:1::/48",  # NAT64 within a network (RFC 8215), of which /96 is the usual form
        ),
    )
)
_ISATAP = (0x00005EFE, 0x02005EFE)


def anywhere(address: str, port: int) -> bool:
    """Where nobody is to be kept from anything, such as in an experiment."""
    return True


def guarded_sockets(may_reach: MayReach) -> Callable[[AddrInfoType], socket.socket]:
    """A maker of sockets for aiohttp; its OSError becomes aiohttp's ClientConnectorError."""

    def made(info: AddrInfoType) -> socket.socket:
        family, kind, protocol, _, address = info
        host, port = str(address[0]), int(address[1])
        if not may_reach(host, port):
            raise OSError(None, f"{host} may not be reached")
        return socket.socket(family=family, type=kind, proto=protocol)

    return made


def carried(address: IPv4Address | IPv6Address) -> tuple[IPv4Address, ...]:
    """The IPv4 addresses that packets to an IPv6 address may end up at."""
    if isinstance(address, IPv4Address):
        return ()
    found = [IPv4Address(int(address) & 0xFFFFFFFF)] if _ends_in_ipv4(address) else []
    if address.sixtofour:
        found.append(address.sixtofour)
    if address.teredo:
        found.extend(address.teredo)
    return tuple(found)


def _ends_in_ipv4(address: IPv6Address) -> bool:
    in_network = any(address in network for network in _IN_THE_LAST_32_BITS)
    return in_network or (int(address) >> 32) & 0xFFFFFFFF in _ISATAP
