"""Answers clients that come back from the portal redirect (proxy/privacy/portalredirect.py).

`PortalRedirectMark` comes before the rules, so that all addons see the address without the mark; `PortalReturn` comes
after them, so that a block still applies.
"""

from mitmproxy import http

from addons.flows import make_response, url_of
from addons.flowstate import AnsweredBy, state_of
from proxy.privacy.clients import ClientHasher
from proxy.privacy.portalredirect import MARK, PortalRedirects, split_mark


class PortalRedirectMark:
    """Takes the seal out of the address, ours or forged, and reads it."""

    def __init__(self, portal_redirects: PortalRedirects, hasher: ClientHasher) -> None:
        self._portal_redirects = portal_redirects
        self._hasher = hasher

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        if MARK not in flow.request.path:
            return
        path, seal = split_mark(flow.request.path)
        if seal is None:
            return
        flow.request.path = path
        state_of(flow).forget_request()
        client = self._hasher.hash(flow.client_conn.peername[0])
        # A script that asks another origin says so; no navigation that only reads does.
        by_script = flow.request.method != "GET" or "origin" in flow.request.headers
        missed = None if by_script else self._portal_redirects.open_seal(url_of(flow), seal, client)
        state = state_of(flow)
        state.was_portal_redirected = True
        state.returned_miss = None if missed is None or missed.at_portal else missed


class PortalReturn:
    """Answers a returning client from the data in the seal, without asking the site again."""

    def request(self, flow: http.HTTPFlow) -> None:
        missed = state_of(flow).returned_miss
        if missed is None or flow.response is not None:
            return
        if missed.referrer:
            flow.request.headers["referer"] = missed.referrer
        if missed.failure is not None:
            state_of(flow).failure = missed.failure
        state_of(flow).answered_by = AnsweredBy.PORTAL_RETURN
        # Seen by nobody, unless something keeps the repair page from being made. No word of it is a stranger's.
        words = f"{missed.status}: page not found, and no repair page available\n".encode("ascii")
        length = ("Content-Length", str(len(words)))
        flow.response = make_response(status=missed.status, headers=(*missed.headers, length), body=words)
