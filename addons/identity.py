"""Gives each request its identity when it comes in, and writes the Host field that goes out.

It stands before all who ask what a request is for. `proxy/reach/identity.py` explains what an identity is.
"""

from collections.abc import Callable

from mitmproxy import http
from mitmproxy.tls import ClientHelloData

from addons.flows import doubt_name, identity_of, is_in_tunnel, write_page
from addons.flowstate import AnsweredBy
from proxy.pages.render import text_page
from proxy.reach.identity import RequestIdentity, find_fault, name_to_verify

_TUNNELLING = frozenset({"regular", "upstream", "socks5"})


class Identify:
    """The hooks. `verifies` tells whether the certificates of origins are verified."""

    def __init__(self, *, verifies: Callable[[], bool] = lambda: True) -> None:
        self._verifies = verifies

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        data = flow.request.data
        if flow.error is not None or data.method == b"CONNECT" or flow.is_replay is not None:
            return  # refused already; for a tunnel; or a copy of a request that has its identity
        if not self._verifies() and flow.client_conn.proxy_mode.type_name == "transparent":
            doubt_name(flow)  # the certificate would show that the client's address is the site's
        hosts, identity = flow.request.headers.get_all("host"), identity_of(flow)
        if not data.path.startswith(b"/") and (data.method, data.path) != (b"OPTIONS", b"*"):
            _refuse(flow, "a path without a leading slash")  # and would go on with the host's name
            return
        is_http1 = data.http_version.startswith(b"HTTP/1.")
        if is_http1 and hosts == [identity.authority] and not data.authority:
            return  # nearly always
        fault = find_fault(hosts)
        if fault:
            _refuse(flow, fault)
        elif not identity.contradicted:
            _write_host(flow, identity)

    def tls_clienthello(self, hello: ClientHelloData) -> None:
        """The origin is asked for, and verified, under the name of the tunnel, whatever the client's greeting says.

        `FastTls` sees to it once more; this is for mitmproxy's own addon in its place.
        """
        client, server = hello.context.client, hello.context.server
        if client.proxy_mode.type_name in _TUNNELLING and server.address is not None:
            server.sni = name_to_verify(server.address[0], hello.client_hello.sni)


def _refuse(flow: http.HTTPFlow, fault: str) -> None:
    page = text_page(400, f"linkmend: request rejected: it has {fault}, so the target site is unclear\n")
    write_page(flow, page, by=AnsweredBy.REFUSED, also=(("Connection", "close"),))


def _write_host(flow: http.HTTPFlow, identity: RequestIdentity) -> None:
    """Exactly one, equal to the identity. HTTP/2 says it in :authority."""
    request, authority = flow.request, identity.authority.encode("ascii", "replace")
    fields = request.headers.fields
    hosts = [value for name, value in fields if name.lower() == b"host"]
    if request.is_http2 or request.is_http3:
        request.data.authority = authority
        # mitmproxy makes a Host of it for HTTP/1, which it writes in Unicode.
        wanted = [authority] if b"xn--" in authority else []
    else:
        wanted = [authority]
        if request.data.authority:
            # An upstream proxy needs the absolute form; an origin does not, and may take it for something else.
            to_proxy = flow.client_conn.proxy_mode.type_name == "upstream" and not is_in_tunnel(flow)
            request.data.authority = authority if to_proxy else b""
    if hosts != wanted:
        others = tuple(field for field in fields if field[0].lower() != b"host")
        request.headers.fields = (*((b"Host", value) for value in wanted), *others)
