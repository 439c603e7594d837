"""Parses one plain HTTP/1.1 request from bytes, or returns None: for the fast path, before the full parser.

Every parser must read an accepted request alike, so that nothing can be smuggled: a whole single GET or HEAD, lines
ended by CRLF, names that are tokens, values of visible ASCII, exactly one Host, no body, no wish about the
connection. Every other request, however harmless, goes to the full parser.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from proxy.headers.navigation import asks_for_repair, is_navigation
from proxy.messages import Headers
from proxy.reach.loops import FIELD

HEAD_BYTES = 8 * 1024
_MOST_FIELDS = 100
_CACHED_BYTES = 2 * 1024
_CACHED = 1000

_LINE = re.compile(rb"(GET|HEAD) ((?:http://[a-z0-9.:_-]+)?/[!\"$-~]*) HTTP/1\.1\r\n")
_FIELDS = re.compile(rb"(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+: ?[!-~](?:[ -~]*[!-~])?\r\n)+\r\n")
_AUTHORITY = re.compile(r"[a-z0-9_](?:[a-z0-9._-]*[a-z0-9_-])?(?::[1-9][0-9]{0,4})?")
_END = b"\r\n\r\n"
# About a body, an upgrade, a connection, a proxy loop or a service worker: for the full parser.
_REFUSED = frozenset(
    {
        "content-length",
        "expect",
        "http2-settings",
        "keep-alive",
        FIELD.lower(),
        "proxy-authorization",
        "service-worker",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_LASTING = frozenset({"connection", "proxy-connection"})
_ASKS_THE_CACHE = frozenset(
    {
        "cache-control",
        "if-match",
        "if-modified-since",
        "if-none-match",
        "if-range",
        "if-unmodified-since",
        "pragma",
        "range",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, weakref_slot=True)
class PlainFields:
    """The fields of a plain request. The same bytes may give the same object, so it can be a dictionary key.

    `asks_nothing`: no condition, no range, no Cache-Control.
    """

    host: str
    headers: Headers
    asks_nothing: bool
    is_navigation: bool
    asks_for_repair: bool


@dataclass(frozen=True, slots=True)
class PlainRequest:
    """`target` is a path, or an http URL whose authority equals Host exactly."""

    method: str
    target: str
    fields: PlainFields


def plain_request(data: bytes) -> PlainRequest | None:
    """The request, if these bytes are one plain request and nothing else."""
    if len(data) > HEAD_BYTES or data.find(_END) != len(data) - len(_END):
        return None
    line = _LINE.match(data)
    if line is None:
        return None
    rest = data[line.end() :]
    fields = _plain_fields_cached(rest) if len(rest) <= _CACHED_BYTES else _plain_fields(rest)
    if fields is None:
        return None
    method, target = line.groups()
    return PlainRequest("GET" if method == b"GET" else "HEAD", target.decode("ascii"), fields)


def _plain_fields(block: bytes) -> PlainFields | None:
    """Parses the header section, including its final empty line."""
    if not _FIELDS.fullmatch(block):
        return None
    pairs = (line.partition(":") for line in block[: -len(_END)].decode("ascii").split("\r\n"))
    headers = tuple((name, value.lstrip(" ")) for name, _, value in pairs)
    names = [name.lower() for name, _ in headers]
    if len(names) > _MOST_FIELDS or not _REFUSED.isdisjoint(names) or names.count("host") != 1:
        return None
    lasting = (value for name, (_, value) in zip(names, headers, strict=True) if name in _LASTING)
    host = headers[names.index("host")][1]
    if any(value.lower() != "keep-alive" for value in lasting) or not _AUTHORITY.fullmatch(host):
        return None
    return PlainFields(
        host=host,
        headers=headers,
        asks_nothing=_ASKS_THE_CACHE.isdisjoint(names),
        is_navigation=is_navigation("GET", headers),
        asks_for_repair=asks_for_repair("GET", headers),
    )


# A browser sends the same fields with nearly every request; only the target differs.
_plain_fields_cached = lru_cache(maxsize=_CACHED)(_plain_fields)
