"""Tells which exchanges are nobody else's because of the connection they are on, and cleans what is passed on.

Two kinds are: those on a connection that somebody signed in for as a whole (NTLM, Negotiate), where a request does
not say whose it is; and those whose answer may belong to another request. `is_unshared` is for all who store, read
or learn. What is done to connections themselves is in addons/internals/originconnections.py.
"""

from mitmproxy import http

from addons.flows import OURS, field_pairs, header_list, make_response, request_of
from addons.internals.originconnections import (
    DOUBTFUL,
    has_said_too_much,
    is_personal,
    is_retired,
    is_sound,
    note_personal,
)
from addons.parent import goes_by_parent
from proxy.cache.connectionbound import challenges_connection, signs_in_connection
from proxy.cache.exchanges import asks_to_close, request_leaves_doubt
from proxy.cache.fields import has
from proxy.cache.hopbyhop import (
    asks_for_web_socket,
    connection_options,
    forwarded_response,
    is_end_to_end,
    names_end_to_end_fields,
    names_other_fields,
    opens_web_socket,
)

_ODD = "linkmend_odd"
"""Metadata: whether origins may read this request in more than one way."""
_PLAIN_OPTIONS = frozenset({"keep-alive", "Keep-Alive", "close", "Upgrade", "keep-alive, Upgrade"})
_OF_CONNECTIONS = frozenset(
    (
        *(b"connection", b"keep-alive", b"proxy-connection", b"te", b"upgrade"),
        *(b"www-authenticate", b"proxy-authenticate", b"proxy-authentication-info"),
        *(b"persistent-auth", b"proxy-support", b"session-based-authentication"),
    )
)
"""Without any of these, a response says nothing of connections."""
_LASTS = (b"keep-alive", b"Keep-Alive")
_CREDENTIALS = ("authorization", "proxy-authorization")


class Connections:
    """Stands before all who store, read or answer."""

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        request = flow.request
        if not request.is_http11 and not request.is_http10 and not is_sound(request):
            flow.kill()  # type: ignore[no-untyped-call]
            return
        if _has_credentials(request) and signs_in_connection(header_list(request.headers)):
            note_personal(flow.client_conn)
        if request.headers.get("connection", "keep-alive") not in _PLAIN_OPTIONS:
            _drop_named_fields(flow)

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        response = flow.response
        if response is None or OURS in flow.metadata:
            return
        if response.status_code != 101 and _says_nothing_of_connections(response):
            return
        headers = header_list(response.headers)
        from_proxy = goes_by_parent(flow) or flow.client_conn.proxy_mode.type_name == "upstream"
        if challenges_connection(response.status_code, headers, from_proxy=from_proxy):
            note_personal(flow.client_conn)
        if names_end_to_end_fields(headers):
            flow.metadata[DOUBTFUL] = True
        asked = request_of(flow)
        if response.status_code == 101 and not (
            asks_for_web_socket(asked.method, asked.headers) and opens_web_socket(asked.headers, headers)
        ):
            _refuse(flow)
            return
        delimited = has(headers, "content-length") or has(headers, "transfer-encoding")
        kept = forwarded_response(
            response.status_code,
            headers,
            from_proxy=from_proxy,
            # That we asked the origin to close is no matter of the client's.
            lasts=is_retired(flow.server_conn) and delimited and not asks_to_close(asked.headers),
        )
        if kept != headers:
            response.headers.fields = field_pairs(kept)


def _says_nothing_of_connections(response: http.Response) -> bool:
    """Nearly always, but for how long the origin keeps its own, which goes no further."""
    fields = response.headers.fields
    told = [(lower, value) for name, value in fields if (lower := name.lower()) in _OF_CONNECTIONS]
    if any(name != b"keep-alive" and (name != b"connection" or value not in _LASTS) for name, value in told):
        return False
    if any(name == b"keep-alive" for name, _ in told):
        response.headers.fields = tuple(each for each in fields if each[0].lower() != b"keep-alive")
    return True


def _drop_named_fields(flow: http.HTTPFlow) -> None:
    """Take out what the client names as its connection's own, before anybody decides by it."""
    headers = header_list(flow.request.headers)
    if names_other_fields(headers):
        flow.metadata[_ODD] = True
        gone = {name for name in connection_options(headers) if not is_end_to_end(name)} - {"connection"}
        flow.request.headers.fields = field_pairs(
            tuple(each for each in headers if each[0].lower() not in gone)
        )


def _has_credentials(request: http.Request) -> bool:
    return any(name in request.headers for name in _CREDENTIALS)


def _refuse(flow: http.HTTPFlow) -> None:
    """The origin changes to a protocol that nobody asked for."""
    flow.metadata[OURS] = "refused"
    flow.response = make_response(
        status=502, headers=(("Content-Length", "0"), ("Cache-Control", "no-store"), ("Connection", "close"))
    )


def is_personal_connection(flow: http.HTTPFlow) -> bool:
    """Whether somebody signed in, or was asked to, for the connection as a whole.

    Connections to origins are never shared between clients, so that the client's tells of both.
    """
    return is_personal(flow.client_conn)


def is_unshared(flow: http.HTTPFlow) -> bool:
    """Whether what is answered on this connection must not be stored, read or learnt from, for others."""
    return (
        is_personal_connection(flow)
        or DOUBTFUL in flow.metadata
        or has_said_too_much(flow.server_conn)
        or _is_odd(flow)
    )


def _is_odd(flow: http.HTTPFlow) -> bool:
    if flow.request.raw_content and flow.request.method in ("GET", "HEAD"):
        return True  # HTTP/2 tells of it in no header
    known = flow.metadata.get(_ODD)
    if known is None:
        asked = request_of(flow)
        known = flow.metadata[_ODD] = request_leaves_doubt(asked.method, asked.headers, body_follows=False)
    return bool(known)
