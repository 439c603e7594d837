"""Connections without interception: if a rule or the pass-through list says so, bytes are forwarded unread.

The decision is made when a tunnel begins, by the host in CONNECT, never by the server name in the TLS handshake
(SNI): with an SNI of its choice a client could bypass interception for any site. In transparent mode the host is an
IP address and only the SNI names the site. So there we resolve the SNI ourselves and connect to its address, whatever
address the client chose.
"""

from collections.abc import Callable
from datetime import datetime

from mitmproxy import connection
from mitmproxy.proxy import layer
from mitmproxy.tls import ClientHelloData

from addons.mitm.tunnels import begins_tunnel, pass_on
from proxy.rules.domains import DomainList, normal_host
from proxy.rules.live import LiveRules
from proxy.rules.model import NO_RULE, RuleAction
from proxy.settings import ProxySettings, parent_address


class Bypass:
    """Has tunnels passed on unread."""

    def __init__(
        self,
        settings: ProxySettings,
        live: LiveRules,
        passed_through: DomainList,
        *,
        spoke: Callable[[connection.Client], None] = lambda client: None,
        clock: Callable[[], datetime] = lambda: datetime.now().astimezone(),
    ) -> None:
        """`spoke` hears of clients whose bytes are passed on from now on: no request of theirs will be seen."""
        self.settings = settings
        self.passed_through = passed_through
        self._live = live
        self._spoke = spoke
        self._clock = clock

    def next_layer(self, nextlayer: layer.NextLayer) -> None:
        context = nextlayer.context
        if context.server.address is None or not begins_tunnel(nextlayer):
            return
        if self._is_passed(context.server.address[0], context.client.peername[0]):
            pass_on(nextlayer, parent_address(self.settings.parent) if self.settings.parent else None)
            self._spoke(context.client)

    def tls_clienthello(self, hello: ClientHelloData) -> None:
        client, name = hello.context.client, hello.client_hello.sni
        if client.proxy_mode.type_name == "transparent" and name:
            hello.ignore_connection = self._is_passed(name, client.peername[0])
            if hello.ignore_connection:
                server = hello.context.server
                server.address = (name, server.address[1] if server.address else 443)
                self._spoke(client)

    def _is_passed(self, host: str, client: str) -> bool:
        if self._live.ruleset:
            verdict = self._live.ruleset.on_connect(host, client, self._clock())
            if verdict is not NO_RULE:
                return verdict.action is RuleAction.BYPASS
        return bool(self.passed_through.entry_for(normal_host(host)))
