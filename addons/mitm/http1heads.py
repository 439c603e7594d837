"""Parses the head of an HTTP/1 message: strictly from clients, like browsers from origins (docs/http.md).

mitmproxy strips all of Python's white space from values, but HTTP has only two kinds: `true` with a form feed became
`true`, which means something else. Here values stay as they are. Errors of origins that browsers tolerate are
corrected before the response is forwarded: a space before the colon, the same Content-Length twice, lines that are no
fields, a head that ends with the connection.
"""

import re
from typing import Any

import h11
from mitmproxy import http
from mitmproxy.net.http import http1
from mitmproxy.net.http.http1 import read

from proxy.errors import StartError

REQUEST_LINES = 500
RESPONSE_LINES = 5000
"""Chromium and Squid count bytes only; each line costs time, which one origin must not take from all."""

_BLANK = b" \t"
_CONTROLS = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_REFUSED_OF_ORIGINS = re.compile(rb"[\x00\r]")
_NAME = re.compile(rb"[!#$%&'*+\-.^_`|~0-9a-zA-Z]+")
_LENGTHS = re.compile(rb"[ \t]*(0|[1-9][0-9]{0,15})[ \t]*(?:,[ \t]*\1[ \t]*)+")

_read_headers = read._read_headers
_read_request_head = read.read_request_head
_read_response_head = read.read_response_head


def read_headers(lines: list[bytes]) -> http.Headers:
    """The fields of a head, values as they are. Raises ValueError for a line that is none."""
    fields: list[tuple[bytes, bytes]] = []
    for line in lines:
        name, colon, value = line.partition(b":")
        if not colon or not name or line[0] in _BLANK:
            raise ValueError(f"Invalid header line: {line!r}")
        fields.append((name, value.strip(_BLANK)))
    return _make_headers(fields)


def _make_headers(fields: list[tuple[bytes, bytes]]) -> http.Headers:
    """What `Headers(fields)` makes, without a look at each field: these are pairs of bytes."""
    headers = http.Headers.__new__(http.Headers)
    headers.fields = tuple(fields)
    return headers


def read_request_head(lines: list[bytes]) -> http.Request:
    """Raises ValueError; control characters are for nobody to read (RFC 9110 5.5)."""
    if len(lines) > REQUEST_LINES + 1:
        raise h11.RemoteProtocolError(f"header section of more than {REQUEST_LINES} lines", 431)
    if _CONTROLS.search(b"\t".join(lines)):
        raise ValueError("control character in a header")
    return _read_request_head(lines)


def read_response_head(lines: list[bytes]) -> http.Response:
    """As browsers read it. Raises ValueError for what they refuse, and for what could mean two things."""
    if len(lines) > RESPONSE_LINES + 1:
        raise ValueError(f"header section of more than {RESPONSE_LINES} lines")
    if _REFUSED_OF_ORIGINS.search(b"\t".join(lines)):
        raise ValueError("control character in a header")
    response = _read_response_head(lines[:1])
    fields: list[tuple[bytes, bytes]] = []
    for line in lines[1:]:
        name, colon, value = line.partition(b":")
        name = name.rstrip(_BLANK)
        # Lines that are no field are left out, as Chromium does: nobody gets to read them.
        if colon and _NAME.fullmatch(name):
            fields.append((name, value.strip(_BLANK)))
    response.headers.fields = tuple(_one_length(fields))
    return response


def _one_length(fields: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """The fields with a length that stands there several times, and is the same each time, once (RFC 9110 8.6)."""
    stated = [value for name, value in fields if name.lower() == b"content-length"]
    if not stated or (len(stated) == 1 and b"," not in stated[0]):
        return fields
    same = _LENGTHS.fullmatch(b",".join(stated))
    if same is None:
        return fields  # mitmproxy refuses it
    others = [field for field in fields if field[0].lower() != b"content-length"]
    return [*others, (b"Content-Length", same[1])]


def is_cut_head(data: bytes) -> bool:
    """Whether these bytes are a head of whole lines that only lacks its end, as when the connection ended there."""
    return (
        data.endswith(b"\n") and data.startswith(b"HTTP/1.") and b"\n\r\n" not in data and b"\n\n" not in data
    )


def install() -> None:
    """Have mitmproxy read heads this way. Raises StartError when its internals have changed."""
    probe = [b"HTTP/1.1 200 OK", b"A: b"]
    known: Any = getattr(http1, "read_response_head", None)
    if known not in (_read_response_head, read_response_head) or _read_headers(probe[1:]) != read_headers(
        probe[1:]
    ):
        raise StartError("this mitmproxy is not supported: heads are read in another way")
    read._read_headers = read_headers  # type: ignore[assignment]
    for module in (read, http1):
        vars(module).update(read_request_head=read_request_head, read_response_head=read_response_head)
