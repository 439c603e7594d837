"""Readers who might have been scripts, back from their way round by the portal (proxy/readers/detour.py).

`Detour` stands before the rules, so that they and all others see the address as it is; `Arrival` after them, so that
a block still counts.
"""

from mitmproxy import http

from addons.flows import FAILURE, OURS, forget_request, make_response, url_of
from proxy.readers.clients import ClientHasher
from proxy.readers.detour import MARK, Detours, Missed, unmarked

_BACK = "linkmend_back"
"""Metadata: the `Missed` of a reader who came back; None when the seal was no good."""


def missed_before(flow: http.HTTPFlow) -> Missed | None:
    """What the flow's reader had missed when they were sent round."""
    back = flow.metadata.get(_BACK)
    return back if isinstance(back, Missed) else None


def has_been_round(flow: http.HTTPFlow) -> bool:
    """Whether the reader was sent round, in vain or not: nobody is sent twice."""
    return _BACK in flow.metadata


class Detour:
    """Takes the seal out of the address, whoever made it, and reads it."""

    def __init__(self, detours: Detours, hasher: ClientHasher) -> None:
        self._detours = detours
        self._hasher = hasher

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        if MARK not in flow.request.path:
            return
        path, seal = unmarked(flow.request.path)
        if seal is None:
            return
        flow.request.path = path
        forget_request(flow)
        client = self._hasher.hash(flow.client_conn.peername[0])
        # A script that asks another origin says so; no navigation that only reads does.
        by_script = flow.request.method != "GET" or "origin" in flow.request.headers
        missed = None if by_script else self._detours.arrived(url_of(flow), seal, client)
        flow.metadata[_BACK] = None if missed is None or missed.at_portal else missed


class Arrival:
    """Gives who came back the answer that they were sent round with: the site is not asked again."""

    def request(self, flow: http.HTTPFlow) -> None:
        missed = missed_before(flow)
        if missed is None or flow.response is not None:
            return
        if missed.referrer:
            flow.request.headers["referer"] = missed.referrer
        if missed.failure is not None:
            flow.metadata[FAILURE] = missed.failure
        flow.metadata[OURS] = "back"
        # Seen by nobody, unless something keeps the repair page from being made. No word of it is a stranger's.
        words = f"{missed.status}: this page is missing, and there is no repair page for it\n".encode("ascii")
        length = ("Content-Length", str(len(words)))
        flow.response = make_response(status=missed.status, headers=(*missed.headers, length), body=words)
