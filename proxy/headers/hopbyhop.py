"""Which header fields belong to one connection only: they are neither stored nor passed on (RFC 9110 7.6.1).

A client may name any field in Connection, and so take it out of what the origin gets. What we or the origin decide by
stays in, whatever is named; and a request that names a field of another's is nobody else's (`names_other_fields`).
"""

import base64
import hashlib

from proxy.cache.directives import response_directives
from proxy.cache.entry import Headers
from proxy.cache.fields import has, has_body, members

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
# What caches nearer to the origin said of an earlier exchange says nothing of a later hit.
_OF_THE_MOMENT = frozenset({"cache-status", "proxy-status", "x-cache", "x-cache-lookup", "set-cookie"})
_OPTIONS = _CONNECTION_FIELDS | {"close", "http2-settings"}
"""What an honest sender names in Connection."""
_REQUEST_DROPPED = frozenset({"http2-settings", "keep-alive", "proxy-connection", "te", "upgrade"})
_RESPONSE_DROPPED = frozenset({"keep-alive", "proxy-connection", "te", "upgrade"})
_OF_A_PROXY = frozenset({"proxy-authenticate", "proxy-authentication-info"})
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
"""No sender takes these out of a message by naming them in Connection."""
_WEB_SOCKET = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455 1.3
_END_TO_END_BEGINNINGS = ("content-", "access-control-", "cross-origin-", "sec-", "cdn-")


def stored_fields(headers: Headers) -> Headers:
    """The fields of a response that may be stored: neither hop by hop, nor listed in Connection or `no-cache=`."""
    dropped = (
        _CONNECTION_FIELDS
        | _OF_THE_MOMENT
        | {name.lower() for name in members(headers, "connection")}
        | response_directives(headers).field_names("no-cache")
    )
    return tuple((name, value) for name, value in headers if name.lower() not in dropped)


def connection_options(headers: Headers) -> frozenset[str]:
    """What a message names in Connection, in lower case."""
    return frozenset(option.lower() for option in members(headers, "connection"))


def names_other_fields(headers: Headers) -> bool:
    """Whether a message names fields of its own in Connection that no honest sender would."""
    return any(has(headers, option) for option in connection_options(headers) - _OPTIONS)


def names_end_to_end_fields(headers: Headers) -> bool:
    """Whether a message names fields in Connection that are meant for everybody on the way."""
    return any(is_end_to_end(option) for option in connection_options(headers) - _OPTIONS)


def is_end_to_end(name: str) -> bool:
    """Whether a (lower-case) field stays in a message although its Connection names it."""
    return name in _END_TO_END or name.startswith(_END_TO_END_BEGINNINGS)


def asks_for_web_socket(method: str, headers: Headers) -> bool:
    """Whether a request asks for the one protocol that we let a connection change to."""
    if method != "GET" or not has(headers, "upgrade") or has_body(headers):
        return False
    wanted = [each.lower() for each in members(headers, "upgrade")]
    return wanted == ["websocket"] and "upgrade" in connection_options(headers)


def opens_web_socket(asked: Headers, answered: Headers) -> bool:
    """Whether a 101 opens the web socket that was asked for (RFC 6455 4.2.2).

    Anything else would make a tunnel of the connection, in which one side still speaks HTTP, past all that we check.
    """
    keys = [value.strip() for name, value in asked if name.lower() == "sec-websocket-key"]
    versions = [value.strip() for name, value in asked if name.lower() == "sec-websocket-version"]
    accepts = [value.strip() for name, value in answered if name.lower() == "sec-websocket-accept"]
    if (
        len(keys) != 1
        or versions != ["13"]
        or [each.lower() for each in members(answered, "upgrade")] != ["websocket"]
    ):
        return False
    digest = hashlib.sha1((keys[0] + _WEB_SOCKET).encode("utf-8", "replace"), usedforsecurity=False).digest()
    return accepts == [base64.b64encode(digest).decode("ascii")]


def forwarded_request(
    method: str, headers: Headers, *, closes: bool, to_proxy: bool, http2: bool = False
) -> Headers:
    """The fields of a request that go on to the next server.

    `closes`: this is the last request on that connection. `to_proxy`: the next server is a proxy of the school's
    own, and may be told who is asking.
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
        # It knows no Connection, and of TE only this (RFC 9113 8.2.2).
        trailers = any(name.lower() == "te" and value.lower() == "trailers" for name, value in headers)
        return (*kept, ("te", "trailers")) if trailers else kept
    return (*kept, ("Connection", option)) if option else kept


def forwarded_response(status: int, headers: Headers, *, from_proxy: bool, lasts: bool) -> Headers:
    """The fields of a response that go on to the client.

    `from_proxy`: the school's own proxy says it, and may ask who the client is. `lasts`: that the origin closes its
    connection is no matter of the client's.
    """
    options = connection_options(headers)
    dropped = set(_RESPONSE_DROPPED if from_proxy else _RESPONSE_DROPPED | _OF_A_PROXY)
    dropped |= {name for name in options if not is_end_to_end(name)} | {"connection"}
    told: list[str] = []
    if "close" in options:
        told += [] if lasts else ["close"]
    elif "keep-alive" in options:
        told += ["keep-alive"]
    if status in (101, 426):  # RFC 9110 7.8
        dropped -= {"upgrade"}
        told += ["Upgrade"] if "upgrade" in options else []
    kept = tuple((name, value) for name, value in headers if name.lower() not in dropped)
    return (*kept, ("Connection", ", ".join(told))) if told else kept
