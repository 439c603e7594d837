"""How many requests are being answered at this moment, so that a stop can let them finish."""

from mitmproxy import http


class UnderWay:
    """Counts flows between their request and the end of their answer."""

    def __init__(self) -> None:
        self._flows: set[str] = set()

    def __len__(self) -> int:
        return len(self._flows)

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        self._flows.add(flow.id)

    def response(self, flow: http.HTTPFlow) -> None:
        self._flows.discard(flow.id)

    def error(self, flow: http.HTTPFlow) -> None:
        if flow.response is None:
            self._flows.discard(flow.id)
