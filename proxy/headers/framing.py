"""After which exchanges an HTTP/1 connection to an origin may be reused (request smuggling).

Each end works out for itself where a message ends. If the two disagree, the rest of one message is read as the next
one, and the response to one URL is stored for another. So a connection is reused only after exchanges that every
origin reads alike. This is an allow list, not a list of known attacks.
"""

import re
from functools import lru_cache

from proxy.headers.fields import has_any, has_body, members
from proxy.headers.hopbyhop import names_other_fields
from proxy.messages import Headers, values

_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9a-zA-Z]+")
_LENGTH = re.compile(r"0|[1-9][0-9]{0,17}")
_WITH_BODY = frozenset(
    (
        *("POST", "PUT", "PATCH"),
        # WebDAV and its extensions (RFC 3253, 3648, 3744, 4437, 4791, 4918, 5323, 5842).
        *("ACL", "BASELINE-CONTROL", "BIND", "CHECKIN", "CHECKOUT", "LABEL", "LOCK", "MERGE", "MKACTIVITY"),
        *("MKCALENDAR", "MKCOL", "MKREDIRECTREF", "MKWORKSPACE", "ORDERPATCH", "PROPFIND", "PROPPATCH"),
        *("REBIND", "REPORT", "SEARCH", "UNBIND", "UNCHECKOUT", "UPDATE", "UPDATEREDIRECTREF"),
        "VERSION-CONTROL",
    )
)
_WITHOUT_BODY = frozenset({"GET", "HEAD", "DELETE", "OPTIONS", "COPY", "MOVE", "UNLOCK", "LINK", "UNLINK"})
_NO_CONTENT = frozenset({204, 304})
_CONNECTION_FIELDS = frozenset({"connection", "proxy-connection"})


def is_token(method: str) -> bool:
    """Whether the text is a valid method name (RFC 9110 9.1)."""
    return _TOKEN.fullmatch(method) is not None


def is_ambiguous_request(method: str, headers: Headers, *, body_follows: bool) -> bool:
    """Whether an origin may disagree with us about where this request ends.

    Methods are case-sensitive, but some origins read `hEaD` as HEAD (RFC 9110 9.1). Many origins do not read the body
    of a GET and take it for the next request.
    """
    if method not in _WITH_BODY and (method not in _WITHOUT_BODY or body_follows or has_body(headers)):
        return True
    for name, _ in headers:
        if _resembles_framing(name):
            return True
    return names_other_fields(headers)


@lru_cache(maxsize=2048)  # there are few names
def _resembles_framing(name: str) -> bool:
    """Whether a careless origin may take the field for Content-Length or Transfer-Encoding (`Content_Length`)."""
    known = re.sub(r"[^a-z]", "", name.lower()) in ("contentlength", "transferencoding")
    return known and name.lower() not in ("content-length", "transfer-encoding")


def is_ambiguous_response(status: int, headers: Headers, *, version: str) -> bool:
    """Whether more bytes may follow than the response head announces, or the connection is about to close."""
    lengths, codings = values(headers, "content-length"), values(headers, "transfer-encoding")
    if version != "HTTP/1.1" and (codings or version != "HTTP/1.0"):
        return True
    if len(lengths) + len(codings) > 1:
        return True
    if (lengths and not _LENGTH.fullmatch(lengths[0])) or (codings and codings[0].lower() != "chunked"):
        return True
    if status in _NO_CONTENT and (codings or lengths not in ([], ["0"])):
        return True
    return status < 200 or asks_to_close(headers)


def asks_to_close(headers: Headers) -> bool:
    """Whether the sender asks to close the connection, in any spelling."""
    return has_any(headers, _CONNECTION_FIELDS) and any(
        option.lower() == "close" for name in _CONNECTION_FIELDS for option in members(headers, name)
    )
