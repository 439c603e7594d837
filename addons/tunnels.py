"""Raw tunnels and web sockets: their content is not kept, and rules that block a host apply to them as well."""

from collections.abc import Callable
from datetime import datetime

from mitmproxy import http, tcp

from proxy.rules.live import LiveRules
from proxy.rules.model import RuleAction

_KEPT_IN = frozenset((RuleAction.BLOCK, RuleAction.OFFLINE_ONLY))


class Tunnels:
    """Applies the rules to raw tunnels, and drops the messages that mitmproxy would keep in memory for inspection."""

    def __init__(
        self, live: LiveRules, *, clock: Callable[[], datetime] = lambda: datetime.now().astimezone()
    ) -> None:
        self._live = live
        self._clock = clock

    def tcp_start(self, flow: tcp.TCPFlow) -> None:
        """Only the host is known of it; no page can be shown, so the connection is not made."""
        place = flow.server_conn.address
        if self._live.ruleset and place is not None:
            verdict = self._live.ruleset.on_connect(place[0], flow.client_conn.peername[0], self._clock())
            if verdict.action in _KEPT_IN:
                flow.server_conn.error = "blocked by a rule"

    def tcp_message(self, flow: tcp.TCPFlow) -> None:
        flow.messages.clear()

    def websocket_message(self, flow: http.HTTPFlow) -> None:
        if flow.websocket is not None:
            flow.websocket.messages.clear()
