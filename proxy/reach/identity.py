"""The identity of a request: the site it is for, determined once when the request arrives (pure).

Scheme, host and port come from the request target: the absolute form, the host of a CONNECT, the target of reverse
mode, or in transparent mode the server name in the TLS handshake (SNI). Nothing else may name the site. The cache
key, the collection, the log and the rules use only this identity, the origin's certificate is verified for it, and
the forwarded Host field is written from it.

A request may contradict its identity: another Host, another SNI, another absolute form inside a tunnel. The server
may answer it as it likes. So linkmend forwards such a request unchanged and isolates it: nothing of it is stored,
collected or logged, and no stored response answers it.
"""

import contextlib
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv6Address, ip_address

_DEFAULT_PORTS = {"http": 80, "https": 443}
_AUTHORITY = re.compile(r"(\[[0-9A-Fa-f:.]+(?:%[0-9A-Za-z._~%-]+)?\]|[^:\[\]]+)(?::([0-9]{1,5}))?")
_NOT_IN_HOSTS = re.compile(r"[\x00-\x20\x7f\"#,/<>?@\\^`{|}]")
_CACHED = 4096
_LONGEST = 300
"""Characters of an authority; names have 253 at most. Longer ones must not fill the caches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestIdentity:
    """The site that a request is for. `host` is in lower case, in ASCII, an IPv6 address without brackets."""

    scheme: str
    host: str
    port: int
    vouched: bool = True
    """False if only the Host field names the host, which the client may forge: http in transparent mode."""
    contradicted: bool = False
    """Whether the request, or the connection it came on, also names another site."""

    @property
    def is_certain(self) -> bool:
        """Whether the response may be stored under this name."""
        return self.vouched and not self.contradicted

    @property
    def authority(self) -> str:
        """Host, with the port unless it is the scheme's default: the value of the Host field."""
        return write_authority(self.scheme, self.host, self.port)

    @property
    def base(self) -> str:
        """The beginning of every URL of the site, up to the path."""
        return f"{self.scheme}://{self.authority}"


def identify(
    *,
    scheme: str,
    host: str,
    port: int,
    claims: Iterable[str] = (),
    sni: str | None = None,
    to_the_letter: bool = False,
    vouched: bool = True,
) -> RequestIdentity:
    """The identity of a request to this scheme, host and port.

    `claims` are the other fields that name a host: Host, and :authority or an absolute form inside a tunnel. `sni` is
    the server name in the client's TLS handshake, if it means the site. If Host is forwarded unchanged, it must equal
    ours `to_the_letter`: a server may take another spelling for another site.
    """
    name = normal_host(host)
    authority = write_authority(scheme, name, port)
    contradicted = sni is not None and not is_same_tls_name(sni, name)
    for claim in claims:
        if claim != authority and (to_the_letter or not names(claim, scheme, name, port)):
            contradicted = True
    return _make_identity(scheme, name, port, vouched, contradicted)


@lru_cache(maxsize=_CACHED)
def _make_identity(scheme: str, host: str, port: int, vouched: bool, contradicted: bool) -> RequestIdentity:
    return RequestIdentity(scheme=scheme, host=host, port=port, vouched=vouched, contradicted=contradicted)


def find_fault(hosts: Collection[str]) -> str:
    """What is wrong with the Host fields of a request (RFC 9112 3.2); empty when they are valid."""
    if len(hosts) > 1:
        return "more than one Host field"
    if any(_NOT_IN_HOSTS.search(host) for host in hosts):
        return "an invalid Host field"
    return ""


def names(claim: str, scheme: str, host: str, port: int) -> bool:
    """Whether an authority means this normalised host at this port; False if it is invalid."""
    found = read_authority(claim)
    return found is not None and found[0] == host and (found[1] or _DEFAULT_PORTS.get(scheme)) == port


def read_authority(text: str) -> tuple[str, int | None] | None:
    """Normalised host and port of an authority; None when it is invalid.

    >>> read_authority("School.test:8080"), read_authority("anna@school.test")
    (('school.test', 8080), None)
    """
    return _read_authority(text) if len(text) <= _LONGEST else None


@lru_cache(maxsize=_CACHED)
def _read_authority(text: str) -> tuple[str, int | None] | None:
    found = _AUTHORITY.fullmatch(text)
    if found is None or not text.isascii() or _NOT_IN_HOSTS.search(text):
        return None
    return normal_host(found[1]), int(found[2]) if found[2] else None


@lru_cache(maxsize=_CACHED)
def write_authority(scheme: str, host: str, port: int) -> str:
    """The canonical form of a normalised host and its port.

    >>> write_authority("https", "::1", 8443)
    '[::1]:8443'
    """
    written = f"[{host}]" if ":" in host else host
    return written if port == _DEFAULT_PORTS.get(scheme) else f"{written}:{port}"


@lru_cache(maxsize=_CACHED)
def normal_host(host: str) -> str:
    """A host in lower case and in ASCII (IDNA); a name without an ASCII form is only lower-cased.

    A dot at the end stays: for browsers the name with the dot is another site.
    """
    bare = host.removeprefix("[").removesuffix("]")
    if ":" in bare:
        try:
            return str(IPv6Address(bare)).lower()
        except ValueError:
            return bare.lower()
    if not bare.isascii():
        with contextlib.suppress(UnicodeError):
            bare = bare.encode("idna").decode("ascii")
    return bare.lower()


def tls_name(host: str) -> str:
    """The name in a certificate for a host: certificates have no dot at the end."""
    return host.removesuffix(".")


def is_same_tls_name(sni: str, host: str) -> bool:
    """Whether an SNI names the host."""
    return tls_name(normal_host(sni)) == tls_name(host)


@lru_cache(maxsize=_CACHED)
def name_to_verify(host: str, sni: str | None) -> str | None:
    """The name to verify an origin's certificate for, in a tunnel to `host`.

    Clients that resolve names themselves open tunnels to an IP address. Their server's certificate has the name, not
    the address, so it is verified for the SNI. The two contradict each other, so nothing of it is stored.
    """
    try:
        ip_address(host.partition("%")[0])
    except ValueError:
        return tls_name(host)
    return sni
