"""Names for networks, such as a class room or a house: reports count by them (pure)."""

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from proxy.errors import SettingsError

_MAX_NAME = 60


@dataclass(frozen=True, slots=True)
class NetworkNames:
    """Names in the order of the settings; the first network that contains an address decides."""

    networks: tuple[tuple[IPv4Network | IPv6Network, str], ...] = ()

    def name_of(self, address: str) -> str:
        """The name of the network that an address is in; "" for none.

        >>> parse_network_names("x", ["Room 12 = 10.0.12.0/24"]).name_of("10.0.12.7")
        'Room 12'
        """
        if not self.networks:
            return ""
        try:
            found = ip_address(address.partition("%")[0])
        except ValueError:
            return ""
        if isinstance(found, IPv6Address) and found.ipv4_mapped is not None:
            found = found.ipv4_mapped
        return next((name for network, name in self.networks if found in network), "")


def parse_network_names(key: str, lines: Iterable[str]) -> NetworkNames:
    """`NAME = NETWORK ...`, one per line. Raises SettingsError that names `key`."""
    networks = []
    for line in lines:
        name, _, rest = line.partition("=")
        name = name.strip()
        if not name or len(name) > _MAX_NAME or not name.isprintable() or not rest.split():
            raise SettingsError(f"{key}: expected NAME = NETWORK ..., got {line!r}")
        for text in rest.split():
            try:
                networks.append((ip_network(text), name))
            except ValueError as error:
                raise SettingsError(f"{key}: expected networks such as 10.0.12.0/24, got {text!r}") from error
    return NetworkNames(tuple(networks))
