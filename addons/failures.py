"""Answers the client when an origin cannot be reached (addons/mitm/streams.py sends the response).

Requests of a site's scripts in a browser get no response: they would take ours for the site's. So the script or
worker sees a network error, as without a proxy.
"""

from collections.abc import Callable
from typing import Literal

from mitmproxy import http

from addons.flows import request_of, url_of, write_page
from addons.flowstate import AnsweredBy, state_of
from proxy.failures import PARENT_DOWN, failure_of, proxy_status
from proxy.headers.fields import members
from proxy.headers.navigation import expects_network_error, submits_form
from proxy.pages.language import choose
from proxy.pages.otherpages import plain_error, unsent_form_page

_BEFORE_SENDING = frozenset(
    (
        "connection_refused",
        "destination_ip_unroutable",
        "dns_error",
        "proxy_loop_detected",
        "tls_certificate_error",
        "tls_protocol_error",
    )
)
"""Failures after which the site cannot have got the request."""
_KEPT = frozenset(("cache-status", "linkmend-miss", "proxy-status", "via"))


class Failures:
    """Gives every failed request a short error response; the repair addon turns it into a page for users.

    A form that was not sent gets its page here: nothing can be offered in its place.
    """

    def __init__(self, portal: Callable[[], bool] = lambda: True) -> None:
        """`portal` tells whether users can reach http://linkmend.internal/."""
        self._portal = portal

    def error(self, flow: http.HTTPFlow) -> None:
        if flow.error is None or flow.response is not None or not state_of(flow).is_answerable:
            return  # the cache has answered with a stale copy, or the client is gone
        failure = failure_of(flow.error.msg, timed_out=state_of(flow).timed_out, via=_via(flow))
        state_of(flow).failure = failure
        words = failure.error.replace("_", " ")
        parent_down = failure.fault == PARENT_DOWN
        page = plain_error(
            failure.kind, url_of(flow), status=failure.status, detail=words, parent_down=parent_down
        )
        write_page(flow, page, by=AnsweredBy.FAILURE, also=(("Proxy-Status", proxy_status(failure)),))

    def response(self, flow: http.HTTPFlow) -> None:
        """Without this, trying again would meet the old error: mitmproxy remembers a failed connection as long as
        the client's lasts (`HttpLayer.get_connection`)."""
        if flow.response is None:
            return
        if _nobody_answered(flow) and submits_form(flow.request.method, request_of(flow).headers):
            self._write_form_page(flow)
        if state_of(flow).failure is not None and flow.request.is_http11:
            flow.response.headers["connection"] = "close"
        if (
            _nobody_answered(flow)
            and flow.is_replay is None
            and expects_network_error(request_of(flow).headers)
        ):
            flow.kill()  # type: ignore[no-untyped-call]  # the stream ends without an answer, once all have seen it

    def _write_form_page(self, flow: http.HTTPFlow) -> None:
        state, status = state_of(flow), flow.response.status_code if flow.response else 502
        sent = state.failure is not None and state.failure.error not in _BEFORE_SENDING
        texts = choose(flow.request.headers.get("accept-language"))
        parent_down = state.failure is not None and state.failure.fault == PARENT_DOWN
        page = unsent_form_page(
            url_of(flow),
            texts,
            status=status,
            sent=sent and not parent_down,
            parent_down=parent_down,
            portal=self._portal(),
        )
        write_page(flow, page, by=state.answered_by or AnsweredBy.FAILURE, keep=_KEPT)


def _via(flow: http.HTTPFlow) -> Literal["parent", "tunnel"] | None:
    if state_of(flow).goes_by_parent:
        return "parent"
    return "tunnel" if flow.server_conn.via is not None else None


def _nobody_answered(flow: http.HTTPFlow) -> bool:
    """Whether the response is ours or the parent's, because the site sent none."""
    ours = state_of(flow).answered_by
    if ours is AnsweredBy.OFFLINE:  # only-if-cached gets its 504, not a repair page (RFC 9111 5.2.1.7)
        return "only-if-cached" not in members(request_of(flow).headers, "cache-control")
    return state_of(flow).failure is not None and ours in (None, AnsweredBy.FAILURE)
