"""Which addresses and ports clients may reach (pure, except for the test whether an address is this machine's).

A proxy can reach what its clients cannot: services on loopback, and the metadata address of a cloud, which hands out
keys. So this machine, link-local, multicast and reserved addresses and metadata services are refused, in every
spelling and in every IPv6 form that embeds them. Private networks stay reachable, since a school's own servers are
there and its clients reach them without a proxy as well. Addresses in the settings (the parent, a private archive,
the target of reverse mode) are the admin's choice and are not checked.

Names are not judged here but where their addresses are connected to (`addons.ssrfguard`, `proxy.http.guard`), since a
name may lead elsewhere a moment later.
"""

import socket
import unicodedata
from collections.abc import Collection, Iterable
from dataclasses import fields
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from proxy.ports import parse_ports
from proxy.settings import Settings, parent_address
from repair.text.publichosts import embedded_ipv4

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

OUT_OF_REACH = "address out of reach"
"""The beginning of the error text of a refused connection."""

_REFUSED: tuple[Network, ...] = tuple(
    map(
        ip_network,
        (
            "0.0.0.0/8",  # this host, and on Linux another name of loopback
            "127.0.0.0/8",
            "169.254.0.0/16",  # link-local, with most clouds' metadata
            "100.100.100.200/32",  # Alibaba's metadata
            "168.63.129.16/32",  # Azure's
            "192.0.0.0/24",  # protocol assignments, with Oracle's metadata
            "224.0.0.0/4",
            "240.0.0.0/4",  # reserved, with the broadcast address
            "::/128",
            "::1/128",
            "fe80::/10",
            "fec0::/10",  # site-local, withdrawn by RFC 3879
            "ff00::/8",
            "100::/64",  # discarded
            "fd00:ec2::/32",  # Amazon's metadata and its neighbours
            "fd20:ce::/32",  # Google's
        ),
    )
)
_THIS_HOST: tuple[Network, ...] = (ip_network("0.0.0.0/8"), ip_network("::/128"))
# For documentation (RFC 5737, RFC 3849). If even these can be bound, the system lets us bind any address.
_UNASSIGNED: tuple[Address, ...] = (ip_address("198.51.100.77"), ip_address("2001:db8:77::77"))
_NAMES = 4096
_LOCAL_NAMES = ("localhost", "localhost.localdomain", "localhost6", "ip6-localhost", "ip6-loopback")


class ReachPolicy:
    """The addresses and ports that the settings allow. Safe in threads."""

    def __init__(
        self,
        *,
        allowed: Iterable[str] = (),
        ports: Collection[str] = ("1-65535",),
        connect_ports: Collection[str] = ("1-65535",),
        own_ports: Iterable[int] = (),
        parent_ports: Iterable[int] = (),
    ) -> None:
        """`allowed` are additional networks, `own_ports` the ports of linkmend's own services on this machine.

        `parent_ports` are those of a parent on this machine: only linkmend may use it.
        """
        self._allowed = tuple(map(ip_network, allowed))
        self._connect_ports = parse_ports("proxy.connect_ports", connect_ports)
        self._request_ports = (*parse_ports("proxy.ports", ports), *self._connect_ports)
        self._own_ports = frozenset(own_ports)
        self._parent_ports = frozenset(parent_ports)
        self._local_names = _within(IPv4Address("127.0.0.1"), self._allowed)
        self._may_name_cached = lru_cache(maxsize=_NAMES)(
            self._may_name
        )  # asked with every request, of few hosts

    def may_reach(self, address: str, port: int = 0) -> bool:
        """Whether a connection to an IP address is allowed; False if the text is not an address.

        Our own ports on this machine are always refused: the admin UI would take a student for a local admin, and the
        proxy would loop.
        """
        try:
            found = ip_address(address.partition("%")[0])
        except ValueError:
            return False
        if (port in self._own_ports or port in self._parent_ports) and is_own(address):
            return False
        return is_not_refused(found) or _within(found, self._allowed)

    def is_own_service(self, address: str, port: int) -> bool:
        """Whether linkmend itself answers at an IP address and port."""
        return port in self._own_ports and is_own(address)

    def is_reserved(self, host: str, port: int) -> bool:
        """Whether a host as written is this machine, at a port where linkmend or its parent listens.

        For targets that linkmend does not connect to itself, such as those that a parent fetches.
        """
        return (port in self._own_ports or port in self._parent_ports) and _is_written_own(host)

    def may_name(self, host: str) -> bool:
        """Whether a request may name this host as written; the addresses behind a name are checked later."""
        return self._may_name_cached(host)

    def _may_name(self, host: str) -> bool:
        found = literal(host)
        if found is not None:
            return is_not_refused(found) or _within(found, self._allowed)
        bare = host.rstrip(".").lower()
        return self._local_names or not (bare in _LOCAL_NAMES or bare.endswith(".localhost"))

    def may_request_port(self, port: int) -> bool:
        """Whether a request may go to a port."""
        for span in self._request_ports:  # noqa: SIM110  a generator would cost twice as much, with each request
            if port in span:
                return True
        return False

    def may_tunnel(self, port: int) -> bool:
        """Whether CONNECT may lead to a port."""
        return any(port in span for span in self._connect_ports)


def reach_of(settings: Settings, *, own_ports: Iterable[int] = ()) -> ReachPolicy:
    """The reach policy of the settings; the ports of all sections that listen are refused.

    `own_ports` are further ports, which the system chose.
    """
    sections = [getattr(settings, section.name) for section in fields(settings)]
    listening = [section.listen for section in sections if getattr(section, "listen", "")]
    proxy = settings.proxy
    if "@" in proxy.mode:  # mitmproxy's own way to say where it listens
        listening.append(proxy.mode.rpartition("@")[2])
    named = {int(port) for text in listening if (port := text.rpartition(":")[2]).isdigit() and port != "0"}
    parent = parent_address(proxy.parent) if proxy.parent else None
    return ReachPolicy(
        allowed=proxy.reach,
        ports=proxy.ports,
        connect_ports=proxy.connect_ports,
        own_ports=named.union(own_ports),
        parent_ports=(parent[1],) if parent is not None and _is_written_own(parent[0]) else (),
    )


def is_not_refused(address: Address) -> bool:
    """Whether an address, and the IPv4 address it embeds, is one of the internet or of a private network."""
    return not any(_within(each, _REFUSED) for each in (address, *embedded_ipv4(address)))


@lru_cache(maxsize=4096)
def literal(host: str) -> Address | None:
    """The IP address of a host, in every spelling that resolvers accept (2130706433, 0x7f.1, 0177.0.0.1); None for a
    name."""
    bare = unicodedata.normalize("NFKC", host).removeprefix("[").removesuffix("]").rstrip(".")
    try:
        return ip_address(bare.partition("%")[0])
    except ValueError:
        pass
    try:
        # Only digits, dots and an x: inet_aton stops at a space and ignores the rest.
        return IPv4Address(socket.inet_aton(bare)) if set(bare) <= set("0123456789abcdefABCDEFxX.") else None
    except OSError:
        return None


def is_own(address: str) -> bool:
    """Whether an address, or the IPv4 address it embeds, is this machine's. Sends nothing.

    A service that listens on all addresses answers at each of these: all of loopback, "any address", and all
    addresses that this machine has.
    """
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    return any(_is_here(each) for each in (found, *embedded_ipv4(found)))


def _is_here(address: Address) -> bool:
    if address.is_loopback or _within(address, _THIS_HOST):
        return True
    return _is_reached_from_itself(address) or (_may_bind(address) and not any(map(_may_bind, _UNASSIGNED)))


def _is_reached_from_itself(address: Address) -> bool:
    """The system uses one of its own addresses as source address to reach it."""
    try:
        with socket.socket(_family(address), socket.SOCK_DGRAM) as probe:
            probe.connect((str(address), 9))
            return ip_address(probe.getsockname()[0].partition("%")[0]) == address
    except OSError:
        return False


def _may_bind(address: Address) -> bool:
    """Whether we can bind the address: a whole network may be routed to this machine (`ip route add local`)."""
    try:
        with socket.socket(_family(address), socket.SOCK_DGRAM) as probe:
            probe.bind((str(address), 0))
    except OSError:
        return False
    return True


def _family(address: Address) -> socket.AddressFamily:
    return socket.AF_INET6 if isinstance(address, IPv6Address) else socket.AF_INET


def _is_written_own(host: str) -> bool:
    """Whether a host as written is this machine."""
    found = literal(host)
    bare = host.rstrip(".").lower()
    return is_own(str(found)) if found is not None else bare in _LOCAL_NAMES or bare.endswith(".localhost")


def _within(address: Address, networks: Iterable[Network]) -> bool:
    return any(address in network for network in networks)
