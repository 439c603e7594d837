"""mitmproxy on a socket that is open already: all workers accept from the one that the supervisor holds.

mitmproxy opens its own with `asyncio.start_server(callback, host, port)`, in a method that we take the place of.
While a worker is replaced, the socket stays open in the supervisor: clients that connect meanwhile wait in its queue.
"""

import asyncio
import errno
import inspect
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from mitmproxy.proxy import mode_servers, mode_specs

from proxy.errors import StartError

_QUEUE = 1024
_AT_ONCE = 1  # connections a worker takes at a time: a burst is shared among all


_Address = tuple[int, tuple[Any, ...]]
"""An address family, and an address of it as sockets take it."""


@dataclass(frozen=True, slots=True)
class ListenSocket:
    """Listening sockets, and the host and port they were asked for."""

    host: str
    port: int
    sockets: tuple[socket.socket, ...]

    def address(self) -> str:
        """What browsers use, as HOST:PORT."""
        host, port = self.sockets[0].getsockname()[:2]
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def close(self) -> None:
        for each in self.sockets:
            each.close()


def listen_address(mode: str) -> tuple[str, int] | None:
    """Host and port that a mode (`regular@HOST:PORT`) listens on; None when several processes cannot share that."""
    try:
        spec = mode_specs.ProxyMode.parse(mode)
    except ValueError as error:
        raise StartError(f"proxy.mode: {mode!r}: {error}") from error
    port = spec.listen_port()
    shared = isinstance(spec, _SHARED) and spec.transport_protocol == "tcp" and port is not None
    return (spec.listen_host(), port) if shared and port is not None else None


_SHARED = (
    mode_specs.RegularMode,
    mode_specs.UpstreamMode,
    mode_specs.TransparentMode,
    mode_specs.ReverseMode,
    mode_specs.Socks5Mode,
)


def open_listen_socket(host: str, port: int) -> ListenSocket:
    """Listen on all addresses of a host, as asyncio would; `::` and no host are IPv4 and IPv6. Raises StartError."""
    try:
        return ListenSocket(host, port, _open_sockets(host, port))
    except OSError as error:
        why = f"[Errno {error.errno}] {error.strerror}"
        raise StartError(f"cannot listen on {host}:{port}: {why}") from error


def _open_sockets(host: str, port: int) -> tuple[socket.socket, ...]:
    sockets: list[socket.socket] = []
    for number, (family, address) in enumerate(_addresses(host, port)):
        try:
            sockets.append(_listening(family, (address[0], _port_of(sockets, port), *address[2:])))
        except OSError as error:
            # Where there is no IPv6, or no IPv4, everybody comes by the other.
            if number and host in _BOTH and error.errno in _NO_FAMILY:
                continue
            for each in sockets:
                each.close()
            raise
    return tuple(sockets)


_V4: _Address = (socket.AF_INET, ("0.0.0.0", 0))  # noqa: S104
_V6: _Address = (socket.AF_INET6, ("::", 0, 0, 0))
_BOTH = {"": (_V4, _V6), "::": (_V6, _V4)}
_NO_FAMILY = frozenset({errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL, errno.EPROTONOSUPPORT})


def _addresses(host: str, port: int) -> Iterable[_Address]:
    if host in _BOTH:
        return _BOTH[host]
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    return dict.fromkeys((family, address) for family, _, _, _, address in found)


def _port_of(sockets: Sequence[socket.socket], port: int) -> int:
    return int(sockets[0].getsockname()[1]) if sockets else port


def _listening(family: int, address: tuple[Any, ...]) -> socket.socket:
    each = socket.socket(family, socket.SOCK_STREAM)
    try:
        each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            # A client by IPv4 has an address of IPv4, by a socket of its own.
            each.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        each.bind(address)
        each.listen(_QUEUE)
    except OSError:
        each.close()
        raise
    return each


def accept_from(opened: ListenSocket) -> None:
    """Have mitmproxy accept from open sockets where it would listen on their address. Raises StartError when this
    mitmproxy listens in another way."""
    listen_on_both()
    own = _mitmproxys_own()

    async def listen(instance: Any, host: str, port: int) -> list[Any]:
        if (host, port) != (opened.host, opened.port):
            return await own(instance, host, port)
        return await _accepting(instance.handle_stream, opened.sockets)

    vars(listen)[_OURS] = True
    mode_servers.AsyncioServerInstance.listen = listen  # type: ignore[method-assign, assignment]


def listen_on_both() -> None:
    """Have mitmproxy listen on IPv4 and IPv6 where it listens by itself. Raises StartError, as above."""
    own = _mitmproxys_own()
    if vars(own).get(_OURS):
        return

    async def listen(instance: Any, host: str, port: int) -> list[Any]:
        if host not in _BOTH or instance.mode.transport_protocol != "tcp":
            return await own(instance, host, port)
        return [
            await asyncio.start_server(instance.handle_stream, sock=each)
            for each in _open_sockets(host, port)
        ]

    vars(listen)[_OURS] = True
    mode_servers.AsyncioServerInstance.listen = listen  # type: ignore[method-assign, assignment]


_OURS = "linkmend_listens"


def _mitmproxys_own() -> Callable[..., Awaitable[list[Any]]]:
    own: Callable[..., Awaitable[list[Any]]] | None = getattr(
        mode_servers.AsyncioServerInstance, "listen", None
    )
    names = [] if own is None else list(inspect.signature(own).parameters)
    if own is None or names[1:] != ["host", "port"]:
        raise StartError("this mitmproxy listens in a way linkmend does not know: use --workers 1")
    return own


async def _accepting(handle: Any, sockets: Sequence[socket.socket]) -> list[asyncio.Server]:
    servers = []
    for each in sockets:
        # asyncio takes as many connections at a time as may wait in the queue; ours may, but not for one worker.
        servers.append(await asyncio.start_server(handle, sock=each.dup(), backlog=_AT_ONCE))
        each.listen(_QUEUE)
    return servers
