"""Which hosts may be reached on behalf of an archive: public addresses, and those where the admin put an archive.

An archive's answers and its names in the DNS are not ours, so a request must not end up on this machine or in the
school's network by either. Names are checked when they are resolved, and connections go to the addresses checked.
"""

import socket
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, ip_address

from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver

from repair.guard import carried

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
    return all(map(_is_public, (address, *carried(address))))


def is_public_host(host: str) -> bool:
    """Whether a host of a URL could be public: no local name, and no address but a public one."""
    bare = host.removeprefix("[").removesuffix("]").rstrip(".")
    try:
        ip_address(bare)
    except ValueError:
        return "." in bare and not bare.endswith(_LOCAL_ENDINGS)
    return is_public_address(bare)


class GuardedResolver(AbstractResolver):
    """Resolves names to public addresses only; `private` are hosts and ports that may be anywhere."""

    def __init__(
        self, private: Iterable[tuple[str, int]] = (), inner: AbstractResolver | None = None
    ) -> None:
        self._private = frozenset(private)
        self._inner = inner or ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """The addresses of a host that may be reached; OSError when there is none."""
        found = await self._inner.resolve(host, port, family)
        if (host.lower(), port) in self._private:
            return found
        public = [result for result in found if is_public_address(result["host"])]
        if not public:
            raise OSError(None, f"{host} has no public address")
        return public

    async def close(self) -> None:
        """Let go of what the inner resolver holds."""
        await self._inner.close()


def _is_public(address: IPv4Address | IPv6Address) -> bool:
    # NAT64's own prefix is a reserved one; what it carries is judged by itself.
    reserved = isinstance(address, IPv4Address) and address.is_reserved
    return address.is_global and not address.is_multicast and not reserved and address != _AZURE
