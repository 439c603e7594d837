"""Whom a request is for: one identity, made once where the request comes in (pure).

Scheme, host and port come out of the request target: the absolute form, the host that a tunnel was asked for, the
target of reverse mode, and where a firewall sent the connection here the name in the TLS greeting. Nothing else may
name the site. The cache's key, the collection, the log and the rules know this identity alone, the origin's
certificate is verified for it, and the Host field that goes out is written from it.

What contradicts it (another Host, another name in the TLS greeting, another absolute form inside a tunnel) is between
the client and the server, which answers as it likes. So such a request is passed on as it came, and it stands apart:
nothing of it is stored, collected or logged, and nothing stored answers it.
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
_REMEMBERED = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The site that a request is for. `host` is in lower case, in ASCII, an IPv6 address without brackets."""

    scheme: str
    host: str
    port: int
    vouched: bool = True
    """False where only the Host field names the host, which the client may forge: http in transparent mode."""
    contradicted: bool = False
    """Whether the request, or the connection it came on, also names another site."""

    @property
    def is_certain(self) -> bool:
        """Whether what comes as the answer may be kept under this name."""
        return self.vouched and not self.contradicted

    @property
    def authority(self) -> str:
        """Host, with the port where that is not the scheme's own: what the Host field says."""
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
) -> Identity:
    """The identity of a request to this place.

    `claims` are the other fields that name a host: Host, and :authority or an absolute form inside a tunnel. `sni` is
    the name in the client's TLS greeting, where the client means the site by it. Where Host is passed on as it came,
    it has to be ours `to_the_letter`: a server may take another spelling for another site.
    """
    name = normal_host(host)
    authority = write_authority(scheme, name, port)
    agreed = all(
        claim == authority or (not to_the_letter and names(claim, scheme, name, port)) for claim in claims
    )
    if agreed and sni is not None:
        agreed = is_same_tls_name(sni, name)
    return Identity(scheme=scheme, host=name, port=port, vouched=vouched, contradicted=not agreed)


def find_fault(hosts: Collection[str]) -> str:
    """What is wrong with the Host fields of a request in itself (RFC 9112 3.2); empty when nothing is."""
    if len(hosts) > 1:
        return "more than one Host field"
    if any(_NOT_IN_HOSTS.search(host) for host in hosts):
        return "a Host field that is no host"
    return ""


def names(claim: str, scheme: str, host: str, port: int) -> bool:
    """Whether an authority means this host, in normal form, at this port; what cannot be read does not."""
    found = read_authority(claim)
    return found is not None and found[0] == host and (found[1] or _DEFAULT_PORTS.get(scheme)) == port


@lru_cache(maxsize=_REMEMBERED)
def read_authority(text: str) -> tuple[str, int | None] | None:
    """Host in normal form and port of an authority; None when it is none.

    >>> read_authority("School.test:8080"), read_authority("anna@school.test")
    (('school.test', 8080), None)
    """
    found = _AUTHORITY.fullmatch(text)
    if found is None or not text.isascii() or _NOT_IN_HOSTS.search(text):
        return None
    return normal_host(found[1]), int(found[2]) if found[2] else None


@lru_cache(maxsize=_REMEMBERED)
def write_authority(scheme: str, host: str, port: int) -> str:
    """The one way to write a host in normal form and its port.

    >>> write_authority("https", "::1", 8443)
    '[::1]:8443'
    """
    written = f"[{host}]" if ":" in host else host
    return written if port == _DEFAULT_PORTS.get(scheme) else f"{written}:{port}"


@lru_cache(maxsize=_REMEMBERED)
def normal_host(host: str) -> str:
    """A host in lower case and in the ASCII form that is looked up; what has none comes back in lower case.

    A dot at the end stays: browsers take the name with it for another site.
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
    """The name that a certificate has to have for a host: no certificate writes the dot at the end."""
    return host.removesuffix(".")


def is_same_tls_name(sni: str, host: str) -> bool:
    """Whether the name in a TLS greeting is the host's."""
    return tls_name(normal_host(sni)) == tls_name(host)


@lru_cache(maxsize=_REMEMBERED)
def name_to_verify(host: str, sni: str | None) -> str | None:
    """The name that an origin's certificate is verified for when a tunnel was asked for to `host`.

    A tunnel to a bare address is made by clients that look up names themselves. Their server's certificate has the
    name and not the address, so there it is verified for the name in the TLS greeting; the two contradict each other,
    so nothing of it is kept.
    """
    try:
        ip_address(host.partition("%")[0])
    except ValueError:
        return tls_name(host)
    return sni
