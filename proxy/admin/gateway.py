"""How the admin UI gets the address of a client behind the proxy (pure).

The proxy forwards what is asked of http://linkmend.internal/admin over a unix socket that only linkmend's own user
can open, and names the client in headers. They count on that socket alone: on the admin port anybody can write them.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from proxy.portal.addresses import PORTAL_HOST

CLIENT_HEADER = "Linkmend-Gateway-Client"
SCHEME_HEADER = "Linkmend-Gateway-Scheme"
HEADERS = (CLIENT_HEADER, SCHEME_HEADER)
UPLOAD_PATH = "/teach/lessons"
"""Where teachers send worksheets, the only bodies larger than a form."""
UPLOAD_BYTES = 12 * 1024**2
"""The most that the gateway forwards there; `teach.max_upload_bytes` may be less."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForwardedClient:
    """The client of a forwarded request, and how it reached the proxy."""

    client: str
    secure: bool

    @property
    def origin(self) -> str:
        return f"{'https' if self.secure else 'http'}://{PORTAL_HOST}"


def gateway_headers(client: str, *, secure: bool) -> dict[str, str]:
    """What the proxy adds to a request that it forwards."""
    return {CLIENT_HEADER: client, SCHEME_HEADER: "https" if secure else "http"}


def forwarded_client(headers: Mapping[str, str]) -> ForwardedClient:
    """The client of a request; only for requests that came by the gateway's socket."""
    return ForwardedClient(
        client=headers.get(CLIENT_HEADER, ""), secure=headers.get(SCHEME_HEADER) == "https"
    )
