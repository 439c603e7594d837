"""Between mitmproxy's flows and our own values: the only module that knows both.

The URL of a flow is where mitmproxy really connects, never what a Host header claims: a client that asks
evil.test for a page with `Host: school.test` must not be able to put evil's answer into the cache under
school.test's name. Where the two differ, `named_truly` is False and nothing may be stored or harvested.
"""

import time
from datetime import UTC, datetime

from mitmproxy import http
from mitmproxy.connection import Server
from mitmproxy.net.http.url import parse_authority

from proxy.cache.entry import CacheRequest, Fields, Headers
from proxy.cache.wire import reason_bytes
from proxy.pages.render import RenderedPage
from proxy.readers.navigation import is_navigation
from repair.model import Page

ORIGINAL_URL = "linkmend_url"
"""Metadata: the URL the client asked for, once the request was pointed elsewhere (parent, body server)."""
OURS = "linkmend_ours"
"""Metadata: who of us made this response ("hit", "repair", "helper", ...); absent for an origin's."""
ANSWERABLE = "linkmend_answerable"
"""Metadata: the origin failed, and what an `error` hook leaves in `flow.response` will be sent."""
FAILURE = "linkmend_failure"
"""Metadata: the `Failure` that kept us from getting an answer of the origin."""
TIMED_OUT = "linkmend_timed_out"
"""Metadata: we ended the connection because the origin took too long."""
EXPECTS_CONTINUE = "linkmend_expects_continue"
"""Metadata: the client waits for the origin's leave before it sends its body (`Expect: 100-continue`)."""
KEPT = "linkmend_kept"
"""Metadata: the `Kept` body of a page that was passed on before it was whole."""
KEPT_BYTES = 8 * 1024 * 1024
_TRULY = "linkmend_named_truly"
_URL = "linkmend_own_url"
_REQUEST = "linkmend_request"
_NAVIGATION = "linkmend_navigation"
"""Metadata: what was worked out of the request once, for the addons that ask after the first."""
_PAGE = "linkmend_page"
_PAGE_OF = "linkmend_page_of"
"""Metadata: the same of the response, and the header fields it was made of."""

_DEFAULT_PORTS = {"http": 80, "https": 443}


class Kept:
    """A body that is passed on as it comes and kept as well, unless it grows too large to be a document."""

    def __init__(self) -> None:
        self._chunks: list[bytes] = []
        self._size = 0

    def __call__(self, chunk: bytes) -> bytes:
        self._size += len(chunk)
        if self._size <= KEPT_BYTES:
            self._chunks.append(chunk)
        else:
            self._chunks.clear()
        return chunk

    def body(self) -> bytes | None:
        """The whole body, once it has passed; None when it was too large."""
        return b"".join(self._chunks) if self._size <= KEPT_BYTES else None


def body_of(flow: http.HTTPFlow) -> bytes | None:
    """The body of the flow's response, as it was sent; None when it was not kept."""
    kept = flow.metadata.get(KEPT)
    if isinstance(kept, Kept):
        return kept.body()
    return flow.response.raw_content if flow.response else None


def url_of(flow: http.HTTPFlow) -> str:
    """The absolute URL the client asked for, host in lower case, default port left out, no fragment."""
    kept = flow.metadata.get(ORIGINAL_URL) or flow.metadata.get(_URL)
    if isinstance(kept, str):
        return kept
    request = flow.request
    host = host_of(flow)
    if ":" in host and not host.startswith("["):
        host = f"[{host}]"
    port = "" if request.port == _DEFAULT_PORTS.get(request.scheme) else f":{request.port}"
    url = flow.metadata[_URL] = f"{request.scheme}://{host}{port}{request.path.partition('#')[0]}"
    return url


def host_of(flow: http.HTTPFlow) -> str:
    """The name of the host that is asked, in lower case.

    In transparent mode we connect to a bare address, and the name is what the browser gave: for https the SNI,
    which the origin's certificate must match; for http only the Host header.
    """
    request = flow.request
    if flow.client_conn.proxy_mode.type_name == "transparent":
        return (flow.client_conn.sni or _host_header(request) or request.host).lower()
    return request.host.lower()


def _host_header(request: http.Request) -> str:
    try:
        return parse_authority(request.host_header or "", check=True)[0].lower()
    except ValueError:
        return ""


def named_truly(flow: http.HTTPFlow) -> bool:
    """Whether the URL's host is vouched for by more than a header that the client may forge."""
    if _TRULY in flow.metadata:
        return bool(flow.metadata[_TRULY])
    truly = flow.metadata[_TRULY] = _named_truly(flow)
    return truly


def claimed_urls(flow: http.HTTPFlow) -> tuple[str, ...]:
    """What a request would ask for at the hosts that it names beside the one we connect to."""
    path = flow.request.path.partition("#")[0]
    return tuple(f"{flow.request.scheme}://{claim.lower()}{path}" for claim in dict.fromkeys(_claims(flow)))


def _claims(flow: http.HTTPFlow) -> tuple[str, ...]:
    # In a tunnel an absolute request line may name another site than the tunnel leads to.
    request = flow.request
    return (*request.headers.get_all("host"), *((request.authority,) if request.authority else ()))


def _named_truly(flow: http.HTTPFlow) -> bool:
    request, claims = flow.request, _claims(flow)
    if flow.client_conn.proxy_mode.type_name == "transparent":
        sni = str(flow.client_conn.sni or "").lower()
        return bool(sni) and all(_names(claim, sni, request) for claim in claims)
    return all(_names(claim, request.host.lower(), request) for claim in claims)


def _names(claim: str, host: str, request: http.Request) -> bool:
    """Whether what a client claims is this host at the port we connect to; what cannot be read is not."""
    if claim == f"{host}:{request.port}" and ":" not in host:
        return True  # nearly always alike to the letter: parsing, ten times as slow, is for the rest
    try:
        name, port = parse_authority(claim, check=True)
    except ValueError:
        return False
    return name.lower() == host and (port or _DEFAULT_PORTS.get(request.scheme)) == request.port


def point_at(flow: http.HTTPFlow, host: str, port: int, path: str) -> None:
    """Send the request to another place over plain http, Host header kept; `url_of` still gives the original."""
    named_truly(flow)
    flow.metadata[ORIGINAL_URL] = url_of(flow)
    kept_host = flow.request.headers.get("host")
    flow.request.host, flow.request.port, flow.request.scheme = host, port, "http"
    flow.request.path, flow.request.authority = path, ""
    if kept_host is not None:
        flow.request.headers["host"] = kept_host  # setting .host rewrites it
    flow.server_conn = Server(address=(host, port))  # a new one: the old may lead through an upstream proxy


def request_of(flow: http.HTTPFlow) -> CacheRequest:
    """The request as the client sent it: worked out once, before the cache adds conditions of its own."""
    kept = flow.metadata.get(_REQUEST)
    if isinstance(kept, CacheRequest):
        return kept
    made = CacheRequest(
        method=flow.request.method, url=url_of(flow), headers=header_list(flow.request.headers)
    )
    flow.metadata[_REQUEST] = made
    return made


def is_navigation_of(flow: http.HTTPFlow) -> bool:
    """Whether a person opens a page with this flow: asked by several addons, worked out once."""
    known = flow.metadata.get(_NAVIGATION)
    if known is None:
        request = request_of(flow)
        known = flow.metadata[_NAVIGATION] = is_navigation(request.method, request.headers)
    return bool(known)


def forget_request(flow: http.HTTPFlow) -> None:
    """Work it out anew: the flow is a copy whose request was changed."""
    for name in (_REQUEST, _URL, _NAVIGATION):
        flow.metadata.pop(name, None)


def header_list(headers: http.Headers) -> Headers:
    """Every field line in order, names and values as latin-1 text, so that nothing is joined or lost."""
    return Fields([(name.decode("latin-1"), value.decode("latin-1")) for name, value in headers.fields])


def mitm_headers(headers: Headers) -> http.Headers:
    """The way back from `header_list`."""
    return http.Headers(field_pairs(headers))


def field_pairs(headers: Headers) -> tuple[tuple[bytes, bytes], ...]:
    """What stands in mitmproxy's `Headers.fields`."""
    return tuple((name.encode("latin-1"), value.encode("latin-1")) for name, value in headers)


def make_response(*, status: int, reason: str = "", headers: Headers, body: bytes = b"") -> http.Response:
    """A response with exactly these headers: `Response.make` adds a Content-Length even to a 304."""
    now = time.time()
    return http.Response(
        http_version=b"HTTP/1.1",
        status_code=status,
        reason=reason_bytes(status, reason),
        headers=mitm_headers(headers),
        content=body,
        trailers=None,
        timestamp_start=now,
        timestamp_end=now,
    )


def page_of(flow: http.HTTPFlow) -> Page:
    """The flow's response as a page; the body is what was sent, still content-coded."""
    response, body = flow.response, body_of(flow) or b""
    fields = response.headers.fields if response else ()
    kept = flow.metadata.get(_PAGE)
    if isinstance(kept, Page) and kept.body is body and flow.metadata[_PAGE_OF] is fields:
        return kept  # asked for by several addons
    page = flow.metadata[_PAGE] = Page(
        url=url_of(flow),
        status=response.status_code if response else 0,
        headers=header_list(response.headers) if response else (),
        body=body,
        fetched_at=datetime.now(UTC),
    )
    flow.metadata[_PAGE_OF] = fields
    return page


def write_page(
    flow: http.HTTPFlow,
    page: RenderedPage,
    *,
    ours: str,
    keep: frozenset[str] = frozenset(),
    also: Headers = (),
) -> None:
    """Answer the flow with a page of ours; of what the response said before, the headers in `keep` stay."""
    before = header_list(flow.response.headers) if flow.response else ()
    kept = tuple((name, value) for name, value in before if name.lower() in keep)
    length: Headers = () if page.status in (204, 304) else (("Content-Length", str(len(page.body))),)
    stated = tuple((name, value) for name, value in page.headers if name.lower() != "content-length")
    flow.response = make_response(
        status=page.status,
        headers=(*stated, *length, *kept, *also),
        body=b"" if flow.request.method == "HEAD" else page.body,
    )
    flow.metadata[OURS] = ours
