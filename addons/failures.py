"""When an origin cannot be reached, the client gets an answer all the same (addons/internals/streams.py sends it).

But for what a page of a site asks for in a browser: there an answer of ours would be taken for the site's, where
without us there is none. So it has none, and the site's script or worker learns that the network failed.
"""

from mitmproxy import http

from addons.flows import ANSWERABLE, FAILURE, OURS, TIMED_OUT, request_of, url_of, write_page
from proxy.cache.fields import members
from proxy.failures import failure_of, proxy_status
from proxy.pages.simple import plain_error
from proxy.readers.navigation import expects_network_error


class Failures:
    """Gives every failed request a short, honest error; the repair addon makes a page of it where a person waits."""

    def error(self, flow: http.HTTPFlow) -> None:
        if flow.error is None or flow.response is not None or not flow.metadata.get(ANSWERABLE):
            return  # the cache has answered with a stale copy, or nobody is there to be answered
        failure = failure_of(flow.error.msg, timed_out=bool(flow.metadata.get(TIMED_OUT)))
        flow.metadata[FAILURE] = failure
        words = failure.error.replace("_", " ")
        page = plain_error(failure.kind, url_of(flow), status=failure.status, detail=words)
        write_page(flow, page, ours="failure", also=(("Proxy-Status", proxy_status(failure)),))

    def response(self, flow: http.HTTPFlow) -> None:
        """Without this, trying again would meet the old error: mitmproxy remembers a failed connection as long as
        the client's lasts (`HttpLayer.get_connection`)."""
        if flow.response is None:
            return
        if FAILURE in flow.metadata and flow.request.is_http11:
            flow.response.headers["connection"] = "close"
        if (
            _nobody_answered(flow)
            and flow.is_replay is None
            and expects_network_error(request_of(flow).headers)
        ):
            flow.kill()  # type: ignore[no-untyped-call]  # the stream ends without an answer, once all have seen it


def _nobody_answered(flow: http.HTTPFlow) -> bool:
    """Whether the answer is ours, or the parent's, in the place of a site that said nothing."""
    ours = flow.metadata.get(OURS)
    if ours == "offline":  # who asks for what is held, and nothing else, is told so (RFC 9111 5.2.1.7)
        return "only-if-cached" not in members(request_of(flow).headers, "cache-control")
    return FAILURE in flow.metadata and ours in (None, "failure")
