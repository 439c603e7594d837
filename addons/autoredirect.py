"""Adds a note to a page that a rule has redirected the user to: it names the missing address.

This addon comes last: the cache and the collection get the site's own page, and only this user sees the note.
"""

from mitmproxy import http

from addons.flows import body_of, header_list, page_of, url_of
from addons.flowstate import state_of
from proxy.headers.navigation import is_navigation
from proxy.pages.banner import banner, with_banner
from proxy.pages.language import choose
from proxy.privacy.clients import ClientHasher
from proxy.privacy.recentpages import RecentPages
from repair.detect import is_document
from repair.parse.decode import identity_body

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


class AutoRedirectNote:
    """Puts the note on the page."""

    def __init__(self, recent_pages: RecentPages, hasher: ClientHasher) -> None:
        self._recent_pages = recent_pages
        self._hasher = hasher

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        if not self._recent_pages.expects_arrivals():
            return  # nearly always
        client = self._hasher.hash(flow.client_conn.peername[0])
        if not self._recent_pages.expects(client):
            return
        if flow.request.method != "GET" or not is_navigation("GET", header_list(flow.request.headers)):
            return  # a prefetch, for example: the user has not opened the page yet
        missed = self._recent_pages.take_arrival(client, url_of(flow))
        if missed is not None:
            state_of(flow).redirected_from = missed
            for name in _CONDITIONS:  # a page that the browser holds already would come without the note
                flow.request.headers.pop(name, None)

    def response(self, flow: http.HTTPFlow) -> None:
        missed, response = state_of(flow).redirected_from, flow.response
        if missed is None or response is None or response.status_code != 200 or response.stream:
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
