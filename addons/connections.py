"""Finds exchanges that must not be shared because of their connection, and removes hop-by-hop fields.

There are two kinds: exchanges on a connection that a user authenticated as a whole (NTLM, Negotiate), where a request
has no credentials; and those whose response may belong to another request. Addons that store, index or learn check
`is_unshared`. addons/mitm/originclient.py handles the connections themselves.
"""

from mitmproxy import http

from addons.flows import field_pairs, header_list, make_response, request_of
from addons.flowstate import AnsweredBy, FlowState, is_from_origin, state_of
from addons.mitm.fasterheaders import fields_by_name
from addons.mitm.originconnections import personal, retired, said_too_much
from proxy.headers.connectionauth import challenges_connection, signs_in_connection
from proxy.headers.fields import has
from proxy.headers.framing import asks_to_close, is_ambiguous_request
from proxy.headers.hopbyhop import (
    asks_for_web_socket,
    connection_options,
    forwarded_response,
    is_end_to_end,
    names_end_to_end_fields,
    names_other_fields,
    opens_web_socket,
)

_PLAIN_OPTIONS = frozenset({b"keep-alive", b"Keep-Alive", b"close", b"Upgrade", b"keep-alive, Upgrade"})
_OF_CONNECTIONS = frozenset(
    (
        *(b"connection", b"keep-alive", b"proxy-connection", b"te", b"upgrade"),
        *(b"www-authenticate", b"proxy-authenticate", b"proxy-authentication-info"),
        *(b"persistent-auth", b"proxy-support", b"session-based-authentication"),
    )
)
"""A response without any of these says nothing about connections."""
_OF_LASTING = frozenset({b"connection", b"keep-alive"})
_LASTS = (b"keep-alive", b"Keep-Alive")
_CREDENTIALS = frozenset({b"authorization", b"proxy-authorization"})


class PersonalConnections:
    """Comes before all addons that store, index or answer."""

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        request = flow.request
        named = fields_by_name(request.headers)
        if not _CREDENTIALS.isdisjoint(named) and signs_in_connection(header_list(request.headers)):
            personal.add(flow.client_conn)
        options = named.get(b"connection")
        if options is not None and (len(options) > 1 or options[0] not in _PLAIN_OPTIONS):
            _drop_named_fields(flow)

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        response = flow.response
        if response is None or not is_from_origin(flow):
            return
        if response.status_code != 101 and _says_nothing_of_connections(response):
            return
        headers = header_list(response.headers)
        from_proxy = state_of(flow).goes_by_parent or flow.client_conn.proxy_mode.type_name == "upstream"
        if challenges_connection(response.status_code, headers, from_proxy=from_proxy):
            personal.add(flow.client_conn)
        if names_end_to_end_fields(headers):
            state_of(flow).is_doubtful = True
        request = request_of(flow)
        if response.status_code == 101 and not (
            asks_for_web_socket(request.method, request.headers)
            and opens_web_socket(request.headers, headers)
        ):
            _refuse(flow)
            return
        delimited = has(headers, "content-length") or has(headers, "transfer-encoding")
        kept = forwarded_response(
            response.status_code,
            headers,
            from_proxy=from_proxy,
            # Our request to close the origin's connection does not concern the client.
            lasts=flow.server_conn in retired and delimited and not asks_to_close(request.headers),
        )
        if kept != headers:
            response.headers.fields = field_pairs(kept)


def _says_nothing_of_connections(response: http.Response) -> bool:
    """True for nearly all responses. Removes Keep-Alive, which concerns the origin's connection only."""
    named = fields_by_name(response.headers)
    connection_fields = _OF_CONNECTIONS.intersection(named)
    if not connection_fields <= _OF_LASTING or any(
        value not in _LASTS for value in named.get(b"connection", ())
    ):
        return False
    if b"keep-alive" in connection_fields:
        fields = response.headers.fields
        response.headers.fields = tuple(each for each in fields if each[0].lower() != b"keep-alive")
    return True


def _drop_named_fields(flow: http.HTTPFlow) -> None:
    """Remove the fields that the client names in Connection, before any addon uses them."""
    headers = header_list(flow.request.headers)
    if names_other_fields(headers):
        state_of(flow).is_ambiguous = True
        gone = {name for name in connection_options(headers) if not is_end_to_end(name)} - {"connection"}
        flow.request.headers.fields = field_pairs(
            tuple(each for each in headers if each[0].lower() not in gone)
        )


def _refuse(flow: http.HTTPFlow) -> None:
    """The origin switches to a protocol that the client did not ask for."""
    state_of(flow).answered_by = AnsweredBy.REFUSED
    flow.response = make_response(
        status=502, headers=(("Content-Length", "0"), ("Cache-Control", "no-store"), ("Connection", "close"))
    )


def is_personal_connection(flow: http.HTTPFlow) -> bool:
    """Whether the connection as a whole was authenticated, or such authentication was demanded.

    Connections to origins are never shared between clients, so that the client's tells of both.
    """
    return flow.client_conn in personal


def is_unshared(flow: http.HTTPFlow) -> bool:
    """Whether responses on this connection must not be stored, indexed or learnt from."""
    state = state_of(flow)
    return (
        flow.client_conn in personal
        or state.is_doubtful
        or flow.server_conn in said_too_much
        or _is_odd(flow, state)
    )


def _is_odd(flow: http.HTTPFlow, state: FlowState) -> bool:
    data = flow.request.data
    if data.content and data.method in (b"GET", b"HEAD"):
        return True  # HTTP/2 tells of it in no header
    if state.is_ambiguous is None:
        request = request_of(flow)
        state.is_ambiguous = is_ambiguous_request(request.method, request.headers, body_follows=False)
    return state.is_ambiguous
