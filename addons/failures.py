"""When an origin cannot be reached, the client gets an answer all the same (addons/internals/streams.py sends it)."""

from mitmproxy import http

from addons.flows import ANSWERABLE, FAILURE, TIMED_OUT, url_of, write_page
from proxy.failures import failure_of, proxy_status
from proxy.pages.simple import plain_error


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
        if FAILURE in flow.metadata and flow.response is not None and flow.request.is_http11:
            flow.response.headers["connection"] = "close"
