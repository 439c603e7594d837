"""Where a rule led a reader straight to another page, that page says on arrival from which missing address.

It stands last: what is stored and harvested is the site's own page, and the note goes to this one reader only.
"""

from mitmproxy import http

from addons.flows import body_of, header_list, page_of, url_of
from proxy.pages.banner import banner, with_banner
from proxy.pages.language import choose
from proxy.readers.clients import ClientHasher
from proxy.readers.navigation import is_navigation
from proxy.readers.visitors import Visitors
from repair.decode import identity_body
from repair.detect import is_document

_ARRIVED = "linkmend_arrived"
"""Metadata: the missing address from which the reader was led here."""
_MAX_BYTES = 8 * 1024 * 1024
_CONDITIONS = ("if-none-match", "if-modified-since")
_NO_LONGER_TRUE = (
    "content-encoding",
    "etag",
    "last-modified",
    "accept-ranges",
    "content-md5",
    "content-digest",
    "repr-digest",
    "digest",
    "age",
    "transfer-encoding",
    "trailer",
)


class Follow:
    """Puts the note on the page."""

    def __init__(self, visitors: Visitors, hasher: ClientHasher) -> None:
        self._visitors = visitors
        self._hasher = hasher

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        if not self._visitors.expects_anybody():
            return  # nearly always
        client = self._hasher.hash(flow.client_conn.peername[0])
        if not self._visitors.expects(client):
            return
        if flow.request.method != "GET" or not is_navigation("GET", header_list(flow.request.headers)):
            return  # a look ahead, say: the reader is yet to come
        missed = self._visitors.arrives(client, url_of(flow))
        if missed is not None:
            flow.metadata[_ARRIVED] = missed
            for name in _CONDITIONS:  # a page that the browser holds already would come without the note
                flow.request.headers.pop(name, None)

    def response(self, flow: http.HTTPFlow) -> None:
        missed, response = flow.metadata.get(_ARRIVED), flow.response
        if not isinstance(missed, str) or response is None or response.status_code != 200 or response.stream:
            return
        page = page_of(flow)
        body = identity_body(page, _MAX_BYTES) if body_of(flow) and is_document(page) else None
        if body is None:
            return
        texts = choose(flow.request.headers.get("accept-language"))
        noted = with_banner(body, page.header("content-type") or "", banner(missed, texts))
        if noted is not None:
            for name in _NO_LONGER_TRUE:
                response.headers.pop(name, None)
            response.headers["cache-control"] = "no-store"
            response.headers["content-length"] = str(len(noted))
            response.raw_content = noted
