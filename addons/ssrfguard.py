"""Limits all connections that mitmproxy opens to allowed addresses (`proxy.reach.policy`), whatever DNS says.

The host in a request is checked first, so that the client gets a page with the reason. What counts is the address of
the connection: asyncio passes each one to the event loop's `sock_connect`, after name resolution, so that no second
lookup can get around the check. `install` replaces that function. mitmproxy runs its `server_connect` hooks in the
same task that then connects, which links the two.

Requests of our own (probes, archives, fetches) go through aiohttp and have their own guard (`proxy.http.guard`).
"""

import asyncio
import logging
from collections.abc import Callable, Collection
from contextvars import ContextVar
from typing import Any
from urllib.parse import urlsplit

from mitmproxy import http
from mitmproxy.proxy.server_hooks import ServerConnectionHookData

from addons.flows import host_of, request_of, url_of, write_page
from addons.flowstate import AnsweredBy, state_of
from proxy.headers.navigation import is_navigation
from proxy.pages.language import choose
from proxy.pages.otherpages import out_of_reach_page
from proxy.reach.policy import OUT_OF_REACH, ReachPolicy
from repair.logs import RateLimitedLogger

log = logging.getLogger(__name__)

Place = tuple[str, int]

_ASKED_FOR, _CHOSEN = "asked for", "chosen"
_purpose: ContextVar[str] = ContextVar("linkmend_purpose", default="")
"""Why this task connects: a client requested it, or linkmend sends requests there itself."""
_MOST_RESERVED = 1000
_DEFAULT_PORTS = {"http": 80, "https": 443}
_STATUS = ("Proxy-Status", "linkmend; error=destination_ip_prohibited")  # RFC 9209 2.3.5


class SsrfGuard:
    """Refuses what is out of reach; to be installed in the event loop. It comes before the cache."""

    def __init__(
        self,
        reach: Callable[[], ReachPolicy],
        *,
        chosen: Callable[[], Collection[Place]],
        portal: Callable[[], bool],
        offline: Callable[[], bool] = lambda: False,
    ) -> None:
        """`chosen` are hosts and ports that linkmend itself sends requests to: the admin's choice, or our own."""
        self._reach = reach
        self._chosen = chosen
        self._portal = portal
        self._offline = offline
        self._refused = RateLimitedLogger(log)
        self._reserved: set[Place] = set()
        """Where chosen names led to: a client that finds the address of the parent must not reach it either."""

    def install(self, loop: asyncio.AbstractEventLoop) -> None:
        connect = loop.sock_connect

        async def sock_connect(sock: Any, address: Any) -> None:
            if _purpose.get() and isinstance(address, tuple):
                self._judge(address[:2])
            await connect(sock, address)

        loop.sock_connect = sock_connect  # type: ignore[method-assign]

    def _judge(self, place: Place) -> None:
        """Raises OSError unless the address may be connected to for what it is wanted for."""
        if _purpose.get() == _CHOSEN:
            if len(self._reserved) < _MOST_RESERVED:
                self._reserved.add(place)
        elif place in self._reserved or not self._reach().may_reach(*place):
            self._refused.warning("connection refused by policy: %s port %d", *place)
            raise OSError(f"{OUT_OF_REACH}: {place[0]}")

    def http_connect(self, flow: http.HTTPFlow) -> None:
        """A port that is not the web's is refused here, an address inside the tunnel: there a page can be shown."""
        if not self._reach().may_tunnel(flow.request.port) or self._is_chosen(flow):
            self._refuse(flow)

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        if flow.request.stream and not self._may_ask(flow):  # it is on its way before its `request` hook
            flow.request.stream = False
            self._refuse(flow)

    def request(self, flow: http.HTTPFlow) -> None:
        if flow.response is None and not self._may_ask(flow):
            self._refuse(flow)

    def server_connect(self, data: ServerConnectionHookData) -> None:
        _purpose.set(_ASKED_FOR)
        address = data.server.address
        target = getattr(data.client.proxy_mode, "address", None)  # of reverse and upstream mode
        if address is not None and address in self._chosen():
            _purpose.set(_CHOSEN)
        elif address is not None and address == target:
            _purpose.set("")
        elif self._offline():
            data.server.error = "offline"  # a tunnel that nobody looks into
        elif data.server.transport_protocol != "tcp":
            data.server.error = f"{OUT_OF_REACH}: {data.server.transport_protocol}"

    def error(self, flow: http.HTTPFlow) -> None:
        if flow.error is not None and OUT_OF_REACH in flow.error.msg and state_of(flow).is_answerable:
            self._refuse(flow)

    def may_ask_for(self, url: str) -> bool:
        """Whether a client may ask for a URL in normal form, where it names the host itself."""
        place = urlsplit(url)
        host, port = place.hostname or "", place.port or _DEFAULT_PORTS[place.scheme]
        return (
            self._reach().may_name(host)
            and self._reach().may_request_port(port)
            and (host, port) not in self._chosen()
            and not self._reach().is_reserved(host, port)
        )

    def _may_ask(self, flow: http.HTTPFlow) -> bool:
        mode = flow.client_conn.proxy_mode.type_name
        if mode == "reverse" or state_of(flow).original_url is not None:
            return True
        reach = self._reach()
        # In transparent mode we connect to an address, but a parent gets the name.
        named = reach.may_name(flow.request.host) and reach.may_name(host_of(flow))
        # What a firewall sends here has its ports chosen there.
        return (
            named
            and (mode == "transparent" or reach.may_request_port(flow.request.port))
            and not self._is_chosen(flow)
        )

    def _is_chosen(self, flow: http.HTTPFlow) -> bool:
        """Whether a client asks for what only linkmend may talk to: Squid would take it for this machine itself."""
        port, chosen, reach = flow.request.port, self._chosen(), self._reach()
        for host in {flow.request.host.lower(), host_of(flow)}:
            if (host, port) in chosen or reach.is_reserved(host, port):
                return True
        return False

    def _refuse(self, flow: http.HTTPFlow) -> None:
        request = request_of(flow)
        texts = choose(flow.request.headers.get("accept-language"))
        person = is_navigation(request.method, request.headers)
        page = out_of_reach_page(url_of(flow), texts, person=person, portal=self._portal())
        write_page(flow, page, by=AnsweredBy.REFUSED, also=(_STATUS, ("Connection", "close")))
