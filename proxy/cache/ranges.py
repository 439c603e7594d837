"""Byte ranges of a stored response (RFC 9110 14).

One range gets a 206. Several ranges in one request get the whole response, which is always allowed: multipart
responses are rare, and attackers like to exhaust servers with them.
"""

import re
from dataclasses import dataclass

from proxy.cache.validation import etag, is_strong
from proxy.headers.fields import has
from proxy.messages import CacheRequest, StoredResponse, values

_RANGE = re.compile(r"\s*bytes\s*=\s*([0-9]{0,18})\s*-\s*([0-9]{0,18})\s*", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class ByteRange:
    """The bytes from `start` up to but not including `stop`; `stop` 0 means an unsatisfiable range."""

    start: int
    stop: int


def wanted_part(request: CacheRequest, stored: StoredResponse, size: int) -> ByteRange | None:
    """The single range of the request, or None for the whole response."""
    lines = values(request.headers, "range")
    if request.method != "GET" or stored.status != 200 or len(lines) != 1:
        return None
    found = _RANGE.fullmatch(lines[0])
    if found is None or not _if_range_holds(request, stored):
        return None
    return _part(found[1], found[2], size)


def _part(first: str, last: str, size: int) -> ByteRange | None:
    if first:
        start = int(first)
        stop = min(int(last) + 1, size) if last else size
        if last and int(last) < start:
            return None  # not a range at all
        return ByteRange(start=start, stop=stop) if start < size else ByteRange(start=0, stop=0)
    if not last:
        return None
    length = int(last)
    return (
        ByteRange(start=max(0, size - length), stop=size) if length and size else ByteRange(start=0, stop=0)
    )


def _if_range_holds(request: CacheRequest, stored: StoredResponse) -> bool:
    """If-Range requires the same bytes: a strong tag, or exactly the Last-Modified (RFC 9110 13.1.5)."""
    if not has(request.headers, "if-range"):
        return True
    lines = values(request.headers, "if-range")
    if len(lines) != 1:
        return False
    wanted = lines[0].strip()
    if is_strong(wanted):
        return wanted == etag(stored.headers)
    return wanted in values(stored.headers, "last-modified")
