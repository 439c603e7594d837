"""Who is served, and how much of the proxy one client may take: linkmend is not an open proxy, and has room for all.

A client from elsewhere, or with too many connections, is let go before a byte of it is read. Connections to origins
are counted as well, since one client's may lead to many. How long a client may take: addons/slowclients.py.
"""

import ipaddress
import logging
from collections import Counter

from mitmproxy import connection
from mitmproxy.proxy.server_hooks import ServerConnectionHookData

from proxy.processes.descriptors import open_files, shares
from proxy.seldom import Seldom
from proxy.settings import ProxySettings

log = logging.getLogger(__name__)

_Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class Clients:
    """Ends the connections of strangers and of crowds."""

    def __init__(self, settings: ProxySettings, *, limit: int | None = None) -> None:
        """`limit` is how many files may be open; the process's own when left out."""
        self._limit = open_files() if limit is None else limit
        self._open: dict[str, str] = {}
        self._by_address: Counter[str] = Counter()
        self._origins: dict[str, set[str]] = {}  # of each client
        self._origin_count = 0
        self._strangers, self._crowds, self._crowded_out = Seldom(log), Seldom(log), Seldom(log)
        self.apply(settings)

    def __len__(self) -> int:
        """Connections of clients that are open."""
        return len(self._open)

    def apply(self, settings: ProxySettings) -> None:
        self._networks: tuple[_Network, ...] = tuple(map(ipaddress.ip_network, settings.clients))
        self._shares = shares(self._limit, per_client=settings.connections_per_client)

    def client_connected(self, client: connection.Client) -> None:
        address = client.peername[0]
        if not self._is_allowed(address):
            client.error = "not a client of this network"
            self._strangers.warn("refused a client outside proxy.clients: %s", address)
        elif len(self._open) >= self._shares.clients or self._by_address[address] >= self._shares.one_client:
            client.error = "too many connections"
            counts = (self._by_address[address], len(self._open))
            self._crowds.warn("refused a connection: its client has %d, all together %d", *counts)
        else:
            self._open[client.id] = address
            self._by_address[address] += 1

    def client_disconnected(self, client: connection.Client) -> None:
        self._origin_count -= len(self._origins.pop(client.id, ()))  # those whose end no hook tells of
        address = self._open.pop(client.id, None)
        if address is not None:
            self._by_address[address] -= 1
            if not self._by_address[address]:
                del self._by_address[address]

    def server_connect(self, data: ServerConnectionHookData) -> None:
        if self._origin_count >= self._shares.origins:
            data.server.error = "too many connections"
            self._crowded_out.warn("no connection to an origin: there are %d already", self._shares.origins)
        else:
            self._origins.setdefault(data.client.id, set()).add(data.server.id)
            self._origin_count += 1

    def server_connect_error(self, data: ServerConnectionHookData) -> None:
        self._left(data)

    def server_disconnected(self, data: ServerConnectionHookData) -> None:
        self._left(data)

    def _left(self, data: ServerConnectionHookData) -> None:
        origins = self._origins.get(data.client.id, set())
        if data.server.id in origins:
            origins.remove(data.server.id)
            self._origin_count -= 1
        if not origins:
            self._origins.pop(data.client.id, None)

    def _is_allowed(self, text: str) -> bool:
        address = ipaddress.ip_address(text.partition("%")[0])  # fe80::1%eth0
        if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
            address = address.ipv4_mapped
        return any(address in network for network in self._networks)
