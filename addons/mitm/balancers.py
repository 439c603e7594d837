"""Clients behind load balancers: the connection of a trusted one is taken for that of the client that it names.

mitmproxy takes a client's address from the socket. Connections from `proxy.balancers` have to begin with the PROXY
protocol. Whatever others send is read as a request, so nobody gives themselves an address.
"""

import asyncio
import functools
import ipaddress
import logging
from collections.abc import Sequence
from typing import Any

from mitmproxy.proxy import mode_servers

from proxy.errors import StartError
from proxy.reach.proxyprotocol import Address, NoProxyHeader, read_client
from repair.logs import RateLimitedLogger

_WITHIN_S = 5.0
_OURS = "linkmend_introduces"

_refused = RateLimitedLogger(logging.getLogger(__name__))
_trusted: list[ipaddress.IPv4Network | ipaddress.IPv6Network] = []


def trust(networks: Sequence[str]) -> None:
    """Whose connections begin with the PROXY protocol, from the next one on."""
    _trusted[:] = map(ipaddress.ip_network, networks)


class IntroducedWriter(asyncio.StreamWriter):
    """A writer to a balancer that has its client's address as the one at the other end."""

    def __init__(self, writer: asyncio.StreamWriter, reader: asyncio.StreamReader, client: Address) -> None:
        transport = writer.transport
        super().__init__(transport, transport.get_protocol(), reader, asyncio.get_running_loop())
        self._client = client

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._client if name == "peername" else super().get_extra_info(name, default)


async def introduced(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, within_s: float = _WITHIN_S
) -> asyncio.StreamWriter:
    """The writer that has the client's own address. Raises NoProxyHeader when a balancer does not say whose it is."""
    peer = writer.get_extra_info("peername")
    if not _trusted or not peer or not _is_trusted(str(peer[0])):
        return writer
    try:
        async with asyncio.timeout(within_s):
            client = await read_client(reader)
    except TimeoutError:
        raise NoProxyHeader("no PROXY header in time") from None
    return writer if client is None else IntroducedWriter(writer, reader, client)


def _is_trusted(text: str) -> bool:
    address = ipaddress.ip_address(text.partition("%")[0])
    return any(address in network for network in _trusted)


def install() -> None:
    """Have mitmproxy ask balancers whom they connect for. Raises StartError when its internals have changed."""
    own = getattr(mode_servers.ServerInstance, "handle_stream", None)
    if not asyncio.iscoroutinefunction(own):
        raise StartError("this mitmproxy is not supported: ServerInstance.handle_stream is no coroutine")
    if hasattr(own, _OURS):
        return

    @functools.wraps(own)
    async def handle_stream(self: Any, reader: Any, writer: Any = None) -> None:
        if isinstance(writer, asyncio.StreamWriter):
            try:
                writer = await introduced(reader, writer)
            except (NoProxyHeader, OSError) as error:
                if not reader.at_eof():  # else it only looked whether the port is open
                    _refused.warning("connection of a load balancer closed: %s", error)
                writer.close()
                return
        await own(self, reader, writer)

    setattr(handle_stream, _OURS, True)
    mode_servers.ServerInstance.handle_stream = handle_stream  # type: ignore[method-assign]
