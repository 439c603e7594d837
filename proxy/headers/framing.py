"""Which exchanges leave an HTTP/1 connection to an origin in a state that both ends agree on.

Where one message ends and the next begins is for each end to work out. When the two disagree, what is left of one
message is read as the next: an answer to one URL is taken, and stored, for that of another. So a connection is used
again only after what every origin reads alike; this is a list of that, and not of what is known to go wrong.
"""

import re
from functools import lru_cache

from proxy.cache.entry import Headers, values
from proxy.cache.fields import has, has_body, members
from proxy.cache.hopbyhop import names_other_fields

_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9a-zA-Z]+")
_LENGTH = re.compile(r"0|[1-9][0-9]{0,17}")
_WITH_BODY = frozenset(
    (
        *("POST", "PUT", "PATCH"),
        # WebDAV and its kin (RFC 3253, 3648, 3744, 4437, 4791, 4918, 5323, 5842).
        *("ACL", "BASELINE-CONTROL", "BIND", "CHECKIN", "CHECKOUT", "LABEL", "LOCK", "MERGE", "MKACTIVITY"),
        *("MKCALENDAR", "MKCOL", "MKREDIRECTREF", "MKWORKSPACE", "ORDERPATCH", "PROPFIND", "PROPPATCH"),
        *("REBIND", "REPORT", "SEARCH", "UNBIND", "UNCHECKOUT", "UPDATE", "UPDATEREDIRECTREF"),
        "VERSION-CONTROL",
    )
)
_WITHOUT_BODY = frozenset({"GET", "HEAD", "DELETE", "OPTIONS", "COPY", "MOVE", "UNLOCK", "LINK", "UNLINK"})
_NO_CONTENT = frozenset({204, 304})


def is_token(method: str) -> bool:
    """Whether it may be a method at all (RFC 9110 9.1)."""
    return _TOKEN.fullmatch(method) is not None


def request_leaves_doubt(method: str, headers: Headers, *, body_follows: bool) -> bool:
    """Whether an origin may read the end of this request elsewhere than we wrote it.

    Methods are case-sensitive: some origins take `hEaD` for HEAD, and some do not (RFC 9110 9.1). Many do not read
    the body of a GET, and take it for the next request.
    """
    if method not in _WITH_BODY and (method not in _WITHOUT_BODY or body_follows or has_body(headers)):
        return True
    return names_other_fields(headers) or any(_resembles_framing(name) for name, _ in headers)


@lru_cache(maxsize=2048)  # of names, which are few
def _resembles_framing(name: str) -> bool:
    """Whether a careless origin may take the field for one that tells where a message ends (`Content_Length`)."""
    known = re.sub(r"[^a-z]", "", name.lower()) in ("contentlength", "transferencoding")
    return known and name.lower() not in ("content-length", "transfer-encoding")


def answer_leaves_doubt(status: int, headers: Headers, *, version: str) -> bool:
    """Whether more may follow an answer than its head tells, or the connection is not meant to last."""
    lengths, codings = values(headers, "content-length"), values(headers, "transfer-encoding")
    if version != "HTTP/1.1" and (codings or version != "HTTP/1.0"):
        return True
    if len(lengths) + len(codings) > 1 or any(not _LENGTH.fullmatch(length) for length in lengths):
        return True
    if any(coding.lower() != "chunked" for coding in codings):
        return True
    if status in _NO_CONTENT and (codings or lengths not in ([], ["0"])):
        return True
    return status < 200 or asks_to_close(headers)


def asks_to_close(headers: Headers) -> bool:
    """Whether the sender wants the connection to end, in whatever spelling."""
    return any(
        option.lower() == "close"
        for name in ("connection", "proxy-connection")
        if has(headers, name)
        for option in members(headers, name)
    )
