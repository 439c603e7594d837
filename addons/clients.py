"""Only clients of the school's own networks are served: linkmend is not an open proxy."""

import ipaddress
import logging

from mitmproxy import connection

log = logging.getLogger(__name__)

_Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class Clients:
    """Ends the connection of a client from elsewhere before a byte of it is read."""

    def __init__(self, networks: tuple[str, ...]) -> None:
        self._networks: tuple[_Network, ...] = ()
        self.allow(networks)

    def allow(self, networks: tuple[str, ...]) -> None:
        self._networks = tuple(ipaddress.ip_network(network) for network in networks)

    def client_connected(self, client: connection.Client) -> None:
        if not self._is_allowed(client.peername[0]):
            client.error = "not a client of this network"
            log.warning("refused a client outside proxy.clients: %s", client.peername[0])

    def _is_allowed(self, text: str) -> bool:
        address = ipaddress.ip_address(text.partition("%")[0])  # fe80::1%eth0
        if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
            address = address.ipv4_mapped
        return any(address in network for network in self._networks)
