"""Converts between mitmproxy's flows and our own types: the only module that knows both.

The URL of a flow begins with its identity (proxy/reach/identity.py), which is determined when the request arrives:
where mitmproxy really connects, never what a Host header claims. If the two differ, the flow `is_contradicted`, and
nothing of it may be stored, harvested or logged.
"""

import time
from dataclasses import replace
from datetime import UTC, datetime

from mitmproxy import http
from mitmproxy.connection import Server

from addons.flowstate import AnsweredBy, state_of
from proxy.cache.serialize import reason_bytes
from proxy.headers.navigation import is_navigation
from proxy.messages import CacheRequest, HeaderFields, Headers
from proxy.pages.render import RenderedPage
from proxy.reach.identity import RequestIdentity, identify, read_authority
from repair.model import Page

_LISTED = "linkmend_listed"
"""The last `header_list` of a block of fields; these are never changed in place: others are another tuple."""

_DESTINATION_KNOWN = frozenset({"reverse", "transparent"})
"""Modes in which the SNI does not name the target of a tunnel."""


def body_of(flow: http.HTTPFlow) -> bytes | None:
    """The body of the flow's response, as it was sent; None when it was not kept."""
    kept = state_of(flow).kept_body
    if kept is not None:
        return kept.body()
    return flow.response.raw_content if flow.response else None


def url_of(flow: http.HTTPFlow) -> str:
    """The absolute URL of the request: host in lower case, without default port and fragment."""
    state = state_of(flow)
    known = state.original_url or state.url
    if known is None:
        path = flow.request.path.partition("#")[0]
        known = state.url = f"{identity_of(flow).base}{path}"
    return known


def host_of(flow: http.HTTPFlow) -> str:
    """The host of the request, in lower case."""
    return identity_of(flow).host


def identity_of(flow: http.HTTPFlow) -> RequestIdentity:
    """The identity of the request: made once, before any addon changes the request, and kept."""
    state = state_of(flow)
    if state.identity is None:
        state.identity = _identify(flow)
    return state.identity


def named_truly(flow: http.HTTPFlow) -> bool:
    """Whether more than a header that the client may forge proves the URL's host."""
    return identity_of(flow).is_certain


def doubt_name(flow: http.HTTPFlow) -> None:
    """Mark the URL's host as unproven, whatever the connection says."""
    state_of(flow).identity = replace(identity_of(flow), vouched=False)


def is_contradicted(flow: http.HTTPFlow) -> bool:
    """Whether the request also names another site: it is forwarded, and nothing of it is kept."""
    return identity_of(flow).contradicted


def claimed_urls(flow: http.HTTPFlow) -> tuple[str, ...]:
    """The URLs of the request at the other hosts that it names."""
    path, scheme = flow.request.path.partition("#")[0], flow.request.scheme
    claims = (*_claims(flow), *((flow.client_conn.sni,) if flow.client_conn.sni else ()))
    return tuple(f"{scheme}://{claim.lower()}{path}" for claim in dict.fromkeys(claims))


def is_in_tunnel(flow: http.HTTPFlow) -> bool:
    """Whether the request came through a tunnel that the client requested: its target names no host then.

    Call this when the request comes in. Outside of tunnels mitmproxy knows of no server yet.
    """
    mode = flow.client_conn.proxy_mode.type_name
    return mode not in _DESTINATION_KNOWN and flow.server_conn.address is not None


def _claims(flow: http.HTTPFlow) -> tuple[str, ...]:
    # In a tunnel an absolute request line may name another site than the tunnel leads to.
    hosts, authority = flow.request.headers.get_all("host"), flow.request.data.authority
    return (*hosts, authority.decode("ascii", "surrogateescape")) if authority else tuple(hosts)


def _identify(flow: http.HTTPFlow) -> RequestIdentity:
    request, client = flow.request, flow.client_conn
    mode, host, sni, vouched = client.proxy_mode.type_name, request.host, None, True
    in_tunnel = is_in_tunnel(flow)
    claims = _claims(flow)
    if "" in claims:
        claims = tuple(filter(None, claims))  # an empty one names nobody
    if mode == "transparent":
        # We connect to a bare address. Its name is what the browser gave: for https the SNI, which the origin's
        # certificate must match; for http only the Host header.
        named = read_authority(claims[0]) if claims else None
        host = client.sni or (named[0] if named is not None and request.scheme == "http" else "") or host
        vouched = bool(client.sni)
    elif in_tunnel and request.scheme == "https":
        sni = client.sni  # without TLS of its own, a tunnel's is that of the connection to us
    return identify(
        scheme=request.scheme,
        host=host,
        port=request.port,
        claims=claims,
        sni=sni,
        to_the_letter=in_tunnel,
        vouched=vouched,
    )


def point_at(flow: http.HTTPFlow, host: str, port: int, path: str) -> None:
    """Send the request to another server over plain http with the same Host; `url_of` still returns the original."""
    state_of(flow).original_url = url_of(flow)
    kept_host = next(iter(_claims(flow)), None)  # HTTP/2 says it in :authority
    flow.request.host, flow.request.port, flow.request.scheme = host, port, "http"
    flow.request.path, flow.request.authority = path, ""
    if kept_host is not None:
        flow.request.headers["host"] = kept_host  # setting .host rewrites it
    flow.server_conn = Server(address=(host, port))  # a new one: the old may lead through an upstream proxy


def request_of(flow: http.HTTPFlow) -> CacheRequest:
    """The request as the client sent it: computed once, before the cache adds its own conditions."""
    state = state_of(flow)
    if state.request is None:
        state.request = CacheRequest(
            method=flow.request.method, url=url_of(flow), headers=header_list(flow.request.headers)
        )
    return state.request


def is_navigation_of(flow: http.HTTPFlow) -> bool:
    """Whether a person opens a page with this flow; several addons need it, so it is computed once.

    What names another site beside its own is no browser's, and nobody's visit to the site.
    """
    state = state_of(flow)
    if state.is_navigation is None:
        request = request_of(flow)
        opens = is_navigation(request.method, request.headers)
        state.is_navigation = opens and not is_contradicted(flow)
    return state.is_navigation


def header_list(headers: http.Headers) -> Headers:
    """Every field line in order, names and values as latin-1 text, so that nothing is joined or lost."""
    known, fields = vars(headers).get(_LISTED), headers.fields
    if known is not None and known[0] is fields:
        return known[1]  # type: ignore[no-any-return]
    listed = HeaderFields([(name.decode("latin-1"), value.decode("latin-1")) for name, value in fields])
    vars(headers)[_LISTED] = (fields, listed)
    return listed


def mitm_headers(headers: Headers) -> http.Headers:
    """The reverse of `header_list`."""
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
    state = state_of(flow)
    if state.page is not None and state.page.body is body and state.page_fields is fields:
        return state.page  # several addons use it
    state.page_fields = fields
    state.page = page = Page(
        url=url_of(flow),
        status=response.status_code if response else 0,
        headers=header_list(response.headers) if response else (),
        body=body,
        fetched_at=datetime.now(UTC),
    )
    return page


def write_page(
    flow: http.HTTPFlow,
    page: RenderedPage,
    *,
    by: AnsweredBy,
    keep: frozenset[str] = frozenset(),
    also: Headers = (),
) -> None:
    """Answer the flow with our own page; the headers in `keep` of the earlier response stay."""
    before = header_list(flow.response.headers) if flow.response else ()
    kept = tuple((name, value) for name, value in before if name.lower() in keep)
    length: Headers = () if page.status in (204, 304) else (("Content-Length", str(len(page.body))),)
    stated = tuple((name, value) for name, value in page.headers if name.lower() != "content-length")
    flow.response = make_response(
        status=page.status,
        headers=(*stated, *length, *kept, *also),
        body=b"" if flow.request.method == "HEAD" else page.body,
    )
    state_of(flow).answered_by = by
