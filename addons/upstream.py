"""Sends requests through the school's Squid, and reads its error headers.

http, and https if the parent is squid-openssl, go in absolute form (`GET https://host/path`): Squid then caches https
too, and every failure is an ordinary response with its error header. A plain Squid cannot fetch https for us, so
there https goes by CONNECT, and a failure ends in the `error` hook like one of a direct connection.

Squid (5.7) applies a 304 to a client's conditions to its own stored response, even if that is another version,
another variant or unreadable; from then on all clients get that, under the newer ETag. So we ask it to forward
conditions without using its cache.
"""

from mitmproxy import http
from mitmproxy.connection import Server

from addons.flows import header_list, is_contradicted, point_at, url_of
from addons.flowstate import state_of
from proxy.failures import parent_failure
from proxy.settings import ProxySettings, parent_address

_CONDITIONS = ("if-none-match", "if-modified-since")


class Upstream:
    """Points requests at the parent. It comes after the cache: a hit never reaches it."""

    def __init__(self, settings: ProxySettings) -> None:
        self.settings = settings

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        if flow.request.stream:  # an upload that is on its way before its `request` hook
            self.request(flow)

    def request(self, flow: http.HTTPFlow) -> None:
        if not self.settings.parent or flow.response is not None or state_of(flow).original_url is not None:
            return  # no parent, answered already, or pointed at our own body server
        host, port = parent_address(self.settings.parent)
        # What contradicts itself goes by CONNECT too: an absolute form would name the one site to Squid, which would
        # ask and keep it, and the client means the other.
        by_tunnel = self.settings.parent_https == "connect" or is_contradicted(flow)
        if flow.request.scheme == "https" and by_tunnel:
            self._tunnel(flow, host, port)
        else:
            state_of(flow).goes_by_parent = True
            if any(name in flow.request.headers for name in _CONDITIONS):
                cache_control = flow.request.headers.get(
                    "cache-control"
                )  # `no-store` above all is for Squid too
                flow.request.headers["cache-control"] = (
                    f"{cache_control}, no-cache" if cache_control else "no-cache"
                )
            point_at(flow, host, port, url_of(flow))

    def _tunnel(self, flow: http.HTTPFlow, host: str, port: int) -> None:
        origin = Server(address=(flow.request.host, flow.request.port))
        origin.via = ("http", (host, port))
        flow.server_conn = origin

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        if flow.response is None or not state_of(flow).goes_by_parent:
            return
        failure = parent_failure(flow.response.status_code, header_list(flow.response.headers))
        if failure is not None:
            state_of(flow).failure = failure
            if flow.response.status_code < 400:
                flow.response.status_code, flow.response.reason = failure.status, "Bad Gateway"
                flow.response.headers["cache-control"] = "no-store"
