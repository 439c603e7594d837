"""Client networks in rules: an address or a network, such as 10.0.3.0/24."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv6Address, ip_address, ip_network
from typing import NamedTuple


class Network(NamedTuple):
    """A network as numbers, whose comparison is ten times as fast as with ipaddress."""

    text: str
    version: int
    mask: int
    first: int


@dataclass(frozen=True, slots=True)
class Networks:
    """Networks that clients may be in."""

    networks: tuple[Network, ...]

    def entry_for(self, client: str) -> str:
        """The network that contains an address, as text; "" for none, or if the address is invalid."""
        version, number = _address(client)
        for network in self.networks:
            if version == network.version and number & network.mask == network.first:
                return network.text
        return ""


def networks_of(texts: Iterable[str]) -> Networks:
    """Networks as written in rules; ValueError, with the reason, if one is invalid."""
    found = []
    for text in texts:
        try:
            network = ip_network(text.strip())
        except ValueError as error:
            raise ValueError(f"expected a network such as 10.0.3.0/24: {error}") from error
        found.append(
            Network(str(network), network.version, int(network.netmask), int(network.network_address))
        )
    return Networks(tuple(found))


@lru_cache(maxsize=4096)
def _address(client: str) -> tuple[int, int]:
    """Version and number of an address without its zone; (0, 0) if it is invalid.

    On a dual-stack socket an IPv4 client appears as ::ffff:10.0.0.1; it counts as IPv4.
    """
    try:
        address = ip_address(client.partition("%")[0])
    except ValueError:
        return 0, 0
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (mapped or address).version, int(mapped or address)
