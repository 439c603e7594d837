"""Streams large uploads instead of holding them in memory."""

from collections.abc import Callable

from mitmproxy import http

from addons.flows import make_response
from addons.flowstate import AnsweredBy, state_of
from addons.rules import verdict_of
from proxy.rules.model import RuleAction

_LARGE = 1024 * 1024


class Uploads:
    """Has mitmproxy stream request bodies that are large or of unknown size.

    A streamed request is on its way before its `request` hook, so an addon that changes it (upstream) does so in
    `requestheaders`. While offline, or where a rule says so, nothing may leave: the body is read and refused as a
    whole. A GET or HEAD may be ours to answer, body or not, so it is never streamed; nobody has reason
    to send much with one.
    """

    def __init__(self, offline: Callable[[], bool]) -> None:
        self._offline = offline

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        length = flow.request.headers.get("content-length", "0")
        unknown = "transfer-encoding" in flow.request.headers
        large = length.isdecimal() and int(length[:20]) > _LARGE
        if flow.request.method in ("GET", "HEAD"):
            if large:
                _refuse(flow)
        elif flow.response is not None:
            return  # refused already: a stream cannot be answered
        elif (unknown or large) and flow.request.method != "CONNECT" and not self._is_kept_in(flow):
            flow.request.stream = True
            # mitmproxy would give leave itself; it is the site's to give (RFC 9110 10.1.1).
            if flow.request.headers.get("expect", "").lower() == "100-continue" and flow.request.is_http11:
                del flow.request.headers["expect"]
                state_of(flow).expects_continue = True

    def _is_kept_in(self, flow: http.HTTPFlow) -> bool:
        verdict = verdict_of(flow)
        return self._offline() or verdict.offline_only or verdict.action is RuleAction.BLOCK


def _refuse(flow: http.HTTPFlow) -> None:
    # Its body is still read, as far as the stream allows (addons/mitm/streams.py).
    state_of(flow).answered_by = AnsweredBy.REFUSED
    flow.response = make_response(
        status=413, headers=(("Content-Length", "0"), ("Cache-Control", "no-store"), ("Connection", "close"))
    )
