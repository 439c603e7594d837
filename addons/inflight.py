"""Counts the requests in flight, so that a stop can let them finish."""

from mitmproxy import connection, http

from addons.flowstate import state_of


class InFlight:
    """Counts clients' requests between their headers and the end of their answer; our own questions do not count."""

    def __init__(self) -> None:
        self._flows: dict[str, set[str]] = {}  # of each client

    def __len__(self) -> int:
        return sum(map(len, self._flows.values()))

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        if flow.is_replay is None:
            self._flows.setdefault(flow.client_conn.id, set()).add(flow.id)

    def response(self, flow: http.HTTPFlow) -> None:
        self._discard(flow)

    def error(self, flow: http.HTTPFlow) -> None:
        if not state_of(flow).is_answerable:  # otherwise an answer, and with it `response`, follows
            self._discard(flow)

    def client_disconnected(self, client: connection.Client) -> None:
        """No hook tells of a flow whose client leaves while the origin's TLS handshake is under way."""
        self._flows.pop(client.id, None)

    def _discard(self, flow: http.HTTPFlow) -> None:
        flows = self._flows.get(flow.client_conn.id, set())
        flows.discard(flow.id)
        if not flows:
            self._flows.pop(flow.client_conn.id, None)
