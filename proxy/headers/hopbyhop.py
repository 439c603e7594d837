"""Hop-by-hop header fields: they are neither stored nor forwarded (RFC 9110 7.6.1).

A client may name any field in Connection to remove it from the forwarded request. Fields that decide about the
response are never removed. The response to a request that names other fields is not shared (`names_other_fields`).
"""

import base64
import hashlib

from proxy.headers.cachecontrol import response_directives
from proxy.headers.fields import has, has_body, members
from proxy.messages import Headers

_CONNECTION_FIELDS = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authentication-info",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
# These describe one exchange with a cache nearer to the origin, not a later hit.
_NOT_STORED = frozenset({"cache-status", "proxy-status", "x-cache", "x-cache-lookup", "set-cookie"})
_OPTIONS = _CONNECTION_FIELDS | {"close", "http2-settings"}
"""Names that normal senders put in Connection."""
_REQUEST_DROPPED = frozenset({"http2-settings", "keep-alive", "proxy-connection", "te", "upgrade"})
_RESPONSE_DROPPED = frozenset({"keep-alive", "proxy-connection", "te", "upgrade"})
_PROXY_FIELDS = frozenset({"proxy-authenticate", "proxy-authentication-info"})
_END_TO_END = frozenset(
    (
        *("host", "authorization", "cookie", "cache-control", "pragma", "range", "via", "expect"),
        *("if-match", "if-none-match", "if-modified-since", "if-unmodified-since", "if-range"),
        *("transfer-encoding", "trailer"),
        *("age", "date", "etag", "expires", "last-modified", "location", "set-cookie", "vary"),
        *("www-authenticate", "authentication-info", "strict-transport-security", "refresh", "link"),
        *(
            "x-frame-options",
            "x-content-type-options",
            "x-robots-tag",
            "surrogate-control",
            "origin",
            "referer",
        ),
    )
)
"""Fields that are forwarded even if Connection names them."""
_WEB_SOCKET = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455 1.3
_END_TO_END_BEGINNINGS = ("content-", "access-control-", "cross-origin-", "sec-", "cdn-")


def stored_fields(headers: Headers) -> Headers:
    """The fields of a response that may be stored: neither hop by hop, nor listed in Connection or `no-cache=`."""
    dropped = (
        _CONNECTION_FIELDS
        | _NOT_STORED
        | {name.lower() for name in members(headers, "connection")}
        | response_directives(headers).field_names("no-cache")
    )
    return tuple((name, value) for name, value in headers if name.lower() not in dropped)


def connection_options(headers: Headers) -> frozenset[str]:
    """The names in Connection, in lower case."""
    return frozenset(option.lower() for option in members(headers, "connection"))


def names_other_fields(headers: Headers) -> bool:
    """Whether Connection names fields of the message that no normal sender would name."""
    if not has(headers, "connection"):
        return False
    return any(has(headers, option) for option in connection_options(headers) - _OPTIONS)


def names_end_to_end_fields(headers: Headers) -> bool:
    """Whether Connection names end-to-end fields."""
    return any(is_end_to_end(option) for option in connection_options(headers) - _OPTIONS)


def is_end_to_end(name: str) -> bool:
    """Whether a (lower-case) field is forwarded although Connection names it."""
    return name in _END_TO_END or name.startswith(_END_TO_END_BEGINNINGS)


def asks_for_web_socket(method: str, headers: Headers) -> bool:
    """Whether a request asks for an upgrade to web sockets, the only upgrade that linkmend allows."""
    if method != "GET" or not has(headers, "upgrade") or has_body(headers):
        return False
    wanted = [each.lower() for each in members(headers, "upgrade")]
    return wanted == ["websocket"] and "upgrade" in connection_options(headers)


def opens_web_socket(request_headers: Headers, response_headers: Headers) -> bool:
    """Whether a 101 accepts the web socket of the request (RFC 6455 4.2.2).

    Any other 101 would turn the connection into a tunnel in which one side still speaks HTTP, past all our checks.
    """
    keys = [value.strip() for name, value in request_headers if name.lower() == "sec-websocket-key"]
    versions = [value.strip() for name, value in request_headers if name.lower() == "sec-websocket-version"]
    accepts = [value.strip() for name, value in response_headers if name.lower() == "sec-websocket-accept"]
    if (
        len(keys) != 1
        or versions != ["13"]
        or [each.lower() for each in members(response_headers, "upgrade")] != ["websocket"]
    ):
        return False
    digest = hashlib.sha1((keys[0] + _WEB_SOCKET).encode("utf-8", "replace"), usedforsecurity=False).digest()
    return accepts == [base64.b64encode(digest).decode("ascii")]


def forwarded_request(
    method: str, headers: Headers, *, closes: bool, to_proxy: bool, http2: bool = False
) -> Headers:
    """The fields of a request to forward to the next server.

    `closes`: this is the last request on that connection. `to_proxy`: the next server is the school's own proxy and
    may get Proxy-Authorization.
    """
    options = connection_options(headers)
    upgrades = not http2 and asks_for_web_socket(method, headers)
    dropped = set(_REQUEST_DROPPED if to_proxy else _REQUEST_DROPPED | {"proxy-authorization"})
    dropped |= {name for name in options if not is_end_to_end(name)} | {"connection"}
    if upgrades:
        dropped -= {"upgrade"}
        option = "Upgrade"
    else:
        option = "close" if closes or "close" in options else "keep-alive" if "keep-alive" in options else ""
    kept = tuple((name, value) for name, value in headers if name.lower() not in dropped)
    if http2:
        # HTTP/2 has no Connection, and allows only this TE (RFC 9113 8.2.2).
        trailers = any(name.lower() == "te" and value.lower() == "trailers" for name, value in headers)
        return (*kept, ("te", "trailers")) if trailers else kept
    return (*kept, ("Connection", option)) if option else kept


def forwarded_response(status: int, headers: Headers, *, from_proxy: bool, lasts: bool) -> Headers:
    """The fields of a response to forward to the client.

    `from_proxy`: the response comes from the school's own proxy, which may send Proxy-Authenticate. `lasts`: the
    client's connection stays open even if the origin closes its own.
    """
    options = connection_options(headers)
    dropped = set(_RESPONSE_DROPPED if from_proxy else _RESPONSE_DROPPED | _PROXY_FIELDS)
    dropped |= {name for name in options if not is_end_to_end(name)} | {"connection"}
    options_out: list[str] = []
    if "close" in options:
        options_out += [] if lasts else ["close"]
    elif "keep-alive" in options:
        options_out += ["keep-alive"]
    if status in (101, 426):  # RFC 9110 7.8
        dropped -= {"upgrade"}
        options_out += ["Upgrade"] if "upgrade" in options else []
    kept = tuple((name, value) for name, value in headers if name.lower() not in dropped)
    return (*kept, ("Connection", ", ".join(options_out))) if options_out else kept
