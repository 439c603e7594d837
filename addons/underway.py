"""How many requests are being answered at this moment, so that a stop can let them finish."""

from mitmproxy import http

from addons.flows import ANSWERABLE


class UnderWay:
    """Counts clients' requests between their headers and the end of their answer; our own questions do not count."""

    def __init__(self) -> None:
        self._flows: set[str] = set()

    def __len__(self) -> int:
        return len(self._flows)

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        if flow.is_replay is None:
            self._flows.add(flow.id)

    def response(self, flow: http.HTTPFlow) -> None:
        self._flows.discard(flow.id)

    def error(self, flow: http.HTTPFlow) -> None:
        if not flow.metadata.get(ANSWERABLE):  # otherwise an answer, and with it `response`, follows
            self._flows.discard(flow.id)
