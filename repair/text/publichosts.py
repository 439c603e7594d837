"""Which hosts and addresses are of the public internet, and which of this machine or a private network (pure).

An archive's answers and its names in the DNS are not ours, so a request must not end up on this machine or in the
school's network by either. `proxy.http.guard` asks these functions about names, and about each address connected to.
"""

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

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
_AZURE = IPv4Address("168.63.129.16")  # a public address, but within Azure its machines' own
# Names of local networks (RFC 6762, RFC 8375, ICANN's .internal, and what routers hand out).
_LOCAL_ENDINGS = (".local", ".localhost", ".internal", ".lan", ".home", ".home.arpa", ".corp", ".intranet")


def is_public_address(text: str) -> bool:
    """Whether an IP address is one of the public internet; IPv4 in IPv6 counts as what it stands for."""
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return False
    if isinstance(address, IPv6Address):
        address = address.ipv4_mapped or address  # some versions of Python call all of these private
    return all(map(_is_public, (address, *embedded_ipv4(address))))


def is_public_host(host: str) -> bool:
    """Whether a host of a URL could be public: no local name, and no address but a public one."""
    bare = host.removeprefix("[").removesuffix("]").rstrip(".")
    try:
        ip_address(bare)
    except ValueError:
        return "." in bare and not bare.endswith(_LOCAL_ENDINGS)
    return is_public_address(bare)


def leads_inside(host: str, further: str) -> bool:
    """Whether something at a public host leads to one that is not: by a redirect, a link, a picture."""
    return further != host and is_public_host(host) and not is_public_host(further)


def embedded_ipv4(address: IPv4Address | IPv6Address) -> tuple[IPv4Address, ...]:
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


def _is_public(address: IPv4Address | IPv6Address) -> bool:
    # NAT64's own prefix is a reserved one; what it carries is judged by itself.
    reserved = isinstance(address, IPv4Address) and address.is_reserved
    return address.is_global and not address.is_multicast and not reserved and address != _AZURE
