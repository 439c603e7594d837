"""The guard of outgoing requests (SSRF): which hosts may be named, and which addresses may be connected to.

A URL is checked before the request. What counts is the second check: aiohttp asks for a socket with the very address
that it is about to connect to, after DNS and for every request, so a name that leads elsewhere a moment later (DNS
rebinding) is found out. `ReachPolicy` holds the rules.

Places that the admin chose (a private archive, the parent) are named by host and port. They may be anywhere but at a
port of linkmend itself.
"""

import socket
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from aiohttp.connector import AddrInfoType

from proxy.http.errors import ForbiddenTarget
from proxy.reach.policy import OUT_OF_REACH, ReachPolicy
from repair.text.publichosts import is_public_address, is_public_host

Place = tuple[str, int]

_to_chosen: ContextVar[bool] = ContextVar("linkmend_http_to_chosen", default=False)
"""Whether this task connects to a place that the admin chose."""


class ConnectGuard:
    """Checks hosts, ports and addresses by the settings of the moment."""

    def __init__(
        self, reach: Callable[[], ReachPolicy], *, chosen: Collection[Place] = (), public_only: bool = False
    ) -> None:
        """`chosen` are places of the admin; with `public_only`, nothing else in a private network is reached."""
        self._reach = reach
        self._chosen = frozenset(chosen)
        self._public_only = public_only

    def is_chosen(self, place: Place) -> bool:
        """Whether the admin chose a place."""
        return place in self._chosen

    def check(self, place: Place) -> None:
        """Raises ForbiddenTarget for a host and port that may not be requested."""
        host, port = place
        reach = self._reach()
        if self.is_chosen(place):
            return
        if self._public_only and not is_public_host(host):
            raise ForbiddenTarget(f"leads into a private network: {host}")
        if not reach.may_name(host) or not reach.may_request_port(port) or reach.is_reserved(host, port):
            raise ForbiddenTarget(f"{OUT_OF_REACH}: {host}:{port}")

    @contextmanager
    def connecting(self, place: Place, *, through_parent: bool) -> Iterator[None]:
        """Say where this task connects to: a place, or the parent that leads there."""
        token = _to_chosen.set(through_parent or self.is_chosen(place))
        try:
            yield
        finally:
            _to_chosen.reset(token)

    def make_socket(self, info: AddrInfoType) -> socket.socket:
        """A socket for aiohttp's connector; OSError for an address that may not be connected to."""
        family, kind, protocol, _, address = info
        host, port = str(address[0]), int(address[1])
        if not self._may_connect(host, port):
            raise OSError(None, f"{OUT_OF_REACH}: {host}:{port}")
        return socket.socket(family=family, type=kind, proto=protocol)

    def _may_connect(self, address: str, port: int) -> bool:
        if _to_chosen.get():
            return not self._reach().is_own_service(address, port)
        return self._reach().may_reach(address, port) and (
            not self._public_only or is_public_address(address)
        )
