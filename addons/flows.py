"""Between mitmproxy's flows and our own values: the only module that knows both.

The URL of a flow begins with its identity (proxy/trust/identity.py), which is made when the request comes in: where
mitmproxy really connects, never what a Host header claims. Where the two differ, the flow `is_contradicted`, and
nothing of it may be stored, harvested or logged.
"""

import time
from datetime import UTC, datetime

from mitmproxy import http
from mitmproxy.connection import Server

from proxy.cache.entry import CacheRequest, Fields, Headers
from proxy.cache.wire import reason_bytes
from proxy.pages.render import RenderedPage
from proxy.readers.navigation import is_navigation
from proxy.trust.identity import Identity, identify, read_authority
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
_IDENTITY = "linkmend_identity"
_URL = "linkmend_own_url"
_REQUEST = "linkmend_request"
_NAVIGATION = "linkmend_navigation"
"""Metadata: what was worked out of the request once, for the addons that ask after the first."""
_PAGE = "linkmend_page"
_PAGE_OF = "linkmend_page_of"
"""Metadata: the same of the response, and the header fields it was made of."""

_DESTINATION_KNOWN = frozenset({"reverse", "transparent"})
"""Modes in which the name in a TLS greeting is not what a tunnel was asked for."""


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
    path = flow.request.path.partition("#")[0]
    url = flow.metadata[_URL] = f"{identity_of(flow).base}{path}"
    return url


def host_of(flow: http.HTTPFlow) -> str:
    """The name of the host that is asked, in lower case."""
    return identity_of(flow).host


def identity_of(flow: http.HTTPFlow) -> Identity:
    """Whom the request is for: made once, before anybody changes the request, and kept for all that follows."""
    known = flow.metadata.get(_IDENTITY)
    if isinstance(known, Identity):
        return known
    made = flow.metadata[_IDENTITY] = _identify(flow)
    return made


def named_truly(flow: http.HTTPFlow) -> bool:
    """Whether the URL's host is vouched for by more than a header that the client may forge."""
    return identity_of(flow).is_certain


def is_contradicted(flow: http.HTTPFlow) -> bool:
    """Whether the request names another site as well: it is passed on, and stands apart from all that we keep."""
    return identity_of(flow).contradicted


def claimed_urls(flow: http.HTTPFlow) -> tuple[str, ...]:
    """What a request would ask for at the hosts that it names beside the one we connect to."""
    path, scheme = flow.request.path.partition("#")[0], flow.request.scheme
    claims = (*_claims(flow), *((flow.client_conn.sni,) if flow.client_conn.sni else ()))
    return tuple(f"{scheme}://{claim.lower()}{path}" for claim in dict.fromkeys(claims))


def is_in_tunnel(flow: http.HTTPFlow) -> bool:
    """Whether the request came through a tunnel that the client asked for: its target names no host then.

    To be asked when the request comes in. Outside of tunnels mitmproxy knows of no server yet.
    """
    mode = flow.client_conn.proxy_mode.type_name
    return mode not in _DESTINATION_KNOWN and flow.server_conn.address is not None


def _claims(flow: http.HTTPFlow) -> tuple[str, ...]:
    # In a tunnel an absolute request line may name another site than the tunnel leads to.
    request = flow.request
    authority = request.data.authority.decode("ascii", "surrogateescape")
    return (*request.headers.get_all("host"), *((authority,) if authority else ()))


def _identify(flow: http.HTTPFlow) -> Identity:
    request, client = flow.request, flow.client_conn
    mode, host, sni, vouched = client.proxy_mode.type_name, request.host, None, True
    claims = tuple(claim for claim in _claims(flow) if claim)  # an empty one names nobody
    if mode == "transparent":
        # We connect to a bare address. Its name is what the browser gave: for https the SNI, which the origin's
        # certificate must match; for http only the Host header.
        named = read_authority(claims[0]) if claims else None
        host = client.sni or (named[0] if named is not None and request.scheme == "http" else "") or host
        vouched = bool(client.sni)
    elif is_in_tunnel(flow) and request.scheme == "https":
        sni = client.sni  # without TLS of its own, a tunnel's is that of the connection to us
    return identify(
        scheme=request.scheme,
        host=host,
        port=request.port,
        claims=claims,
        sni=sni,
        to_the_letter=is_in_tunnel(flow),
        vouched=vouched,
    )


def point_at(flow: http.HTTPFlow, host: str, port: int, path: str) -> None:
    """Send the request to another place over plain http, Host header kept; `url_of` still gives the original."""
    flow.metadata[ORIGINAL_URL] = url_of(flow)
    kept_host = next(iter(_claims(flow)), None)  # HTTP/2 says it in :authority
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
    """Whether a person opens a page with this flow: asked by several addons, worked out once.

    What names another site beside its own is no browser's, and nobody's visit to the site.
    """
    known = flow.metadata.get(_NAVIGATION)
    if known is None:
        request = request_of(flow)
        opens = is_navigation(request.method, request.headers) and not is_contradicted(flow)
        known = flow.metadata[_NAVIGATION] = opens
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
