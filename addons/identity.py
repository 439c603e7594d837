"""Gives each request its identity when it comes in, and writes the Host field that goes out.

It stands before all who ask what a request is for. `proxy/trust/identity.py` explains what an identity is.
"""

from mitmproxy import http
from mitmproxy.tls import ClientHelloData

from addons.flows import identity_of, is_in_tunnel, write_page
from proxy.pages.render import text_page
from proxy.trust.identity import Identity, find_fault, name_to_verify

_TUNNELLING = frozenset({"regular", "upstream", "socks5"})


class Identify:
    """The hooks."""

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        if flow.error is not None or flow.request.method == "CONNECT" or flow.is_replay is not None:
            return  # refused already; for a tunnel; or a copy of a request that has its identity
        hosts, identity = flow.request.headers.get_all("host"), identity_of(flow)
        if not flow.request.path.startswith("/") and (flow.request.method, flow.request.path) != (
            "OPTIONS",
            "*",
        ):
            _refuse(flow, "a path that does not begin with a slash")  # and would go on with the host's name
            return
        is_http1 = flow.request.data.http_version.startswith(b"HTTP/1.")
        if is_http1 and hosts == [identity.authority] and not flow.request.data.authority:
            return  # nearly always
        fault = find_fault(hosts)
        if fault:
            _refuse(flow, fault)
        elif not identity.contradicted:
            _write_host(flow, identity)

    def tls_clienthello(self, hello: ClientHelloData) -> None:
        """The origin is asked for, and verified, under the name of the tunnel, whatever the client's greeting says.

        `QuickTls` sees to it once more; this is for mitmproxy's own addon in its place.
        """
        client, server = hello.context.client, hello.context.server
        if client.proxy_mode.type_name in _TUNNELLING and server.address is not None:
            server.sni = name_to_verify(server.address[0], hello.client_hello.sni)


def _refuse(flow: http.HTTPFlow, fault: str) -> None:
    page = text_page(400, f"linkmend: this request has {fault}: it is not clear which site it is for\n")
    write_page(flow, page, ours="refused", also=(("Connection", "close"),))


def _write_host(flow: http.HTTPFlow, identity: Identity) -> None:
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
