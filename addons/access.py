"""Access control and connection limits: linkmend is not an open proxy, and no client may use up its connections.

A client from another network, or with too many connections, is closed before a byte of it is read. Connections to
origins count as well, since one client may cause many. Timeouts of clients are in addons/slowclients.py.
"""

import ipaddress
import logging
from collections import Counter

from mitmproxy import connection
from mitmproxy.proxy.server_hooks import ServerConnectionHookData

from proxy.descriptors import open_files, shares
from proxy.privacy.clients import network_of
from proxy.settings import ProxySettings
from repair.logs import RateLimitedLogger

log = logging.getLogger(__name__)

_Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_OF_FREE = 3
"""A network may have this many times the free connections: alone three quarters of all, so that others find room."""


class _Room:
    """Open connections by address and, since an IPv6 device has any number of addresses, by network."""

    def __init__(self) -> None:
        self.taken = 0
        self._of: Counter[str] = Counter()

    def is_open_to(self, address: str, *, size: int, one: int) -> bool:
        """Whether one more is allowed, with limits `size` in all and `one` per address."""
        free = size - self.taken
        return self._of[address] < one and self._of[network_of(address)] < _OF_FREE * free

    def of(self, address: str) -> int:
        return self._of[address]

    def change(self, address: str, by: int) -> None:
        self.taken += by
        for who in (address, network_of(address)):
            self._of[who] += by
            if not self._of[who]:
                del self._of[who]


class AccessControl:
    """Closes connections of unknown clients and beyond the limits."""

    def __init__(self, settings: ProxySettings, *, limit: int | None = None) -> None:
        """`limit` is the number of files that may be open; by default the process's own limit."""
        self._limit = open_files() if limit is None else limit
        self._open: dict[str, str] = {}
        self._origins: dict[str, set[str]] = {}  # of each client
        self._client_room, self._origin_room = _Room(), _Room()
        self._strangers, self._crowds, self._crowded_out = (
            RateLimitedLogger(log),
            RateLimitedLogger(log),
            RateLimitedLogger(log),
        )
        self.apply(settings)

    def __len__(self) -> int:
        """The number of open client connections."""
        return len(self._open)

    def apply(self, settings: ProxySettings) -> None:
        self._networks: tuple[_Network, ...] = tuple(map(ipaddress.ip_network, settings.clients))
        self._shares = shares(self._limit, per_client=settings.connections_per_client)

    def client_connected(self, client: connection.Client) -> None:
        address, share = client.peername[0], self._shares
        if not self._is_allowed(address):
            client.error = "not a client of this network"
            self._strangers.warning("client refused: %s is not in proxy.clients", address)
        elif not self._client_room.is_open_to(address, size=share.clients, one=share.one_client):
            client.error = "too many connections"
            counts = (self._client_room.of(address), len(self._open))
            self._crowds.warning(
                "connection limit: client refused with %d connections open, %d in total", *counts
            )
        else:
            self._open[client.id] = address
            self._client_room.change(address, 1)

    def client_disconnected(self, client: connection.Client) -> None:
        for _ in self._origins.pop(client.id, ()):  # those whose end no hook tells of
            self._origin_room.change(client.peername[0], -1)
        address = self._open.pop(client.id, None)
        if address is not None:
            self._client_room.change(address, -1)

    def server_connect(self, data: ServerConnectionHookData) -> None:
        address, most = data.client.peername[0], self._shares.origins
        if not self._origin_room.is_open_to(address, size=most, one=most // 2):
            data.server.error = "too many connections"
            counts = (self._origin_room.of(address), self._origin_room.taken)
            self._crowded_out.warning(
                "connection limit: no new connection to an origin server, the client has %d, %d in total",
                *counts,
            )
        else:
            self._origins.setdefault(data.client.id, set()).add(data.server.id)
            self._origin_room.change(address, 1)

    def server_connect_error(self, data: ServerConnectionHookData) -> None:
        self._note_origin_closed(data)

    def server_disconnected(self, data: ServerConnectionHookData) -> None:
        self._note_origin_closed(data)

    def _note_origin_closed(self, data: ServerConnectionHookData) -> None:
        origins = self._origins.get(data.client.id, set())
        if data.server.id in origins:
            origins.remove(data.server.id)
            self._origin_room.change(data.client.peername[0], -1)
        if not origins:
            self._origins.pop(data.client.id, None)

    def _is_allowed(self, text: str) -> bool:
        address = ipaddress.ip_address(text.partition("%")[0])  # fe80::1%eth0
        if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
            address = address.ipv4_mapped
        return any(address in network for network in self._networks)
