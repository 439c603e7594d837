"""Responses from the cache as HTTP/1.1 bytes, with Via and Cache-Status."""

from http import HTTPStatus

from proxy.cache.status import CacheStatus, write_cache_status
from proxy.messages import Headers

VIA = ("Via", "1.1 linkmend")


def with_cache_headers(headers: Headers, status: CacheStatus) -> Headers:
    """The headers with our Via and Cache-Status, after those of earlier caches."""
    return (*headers, VIA, ("Cache-Status", write_cache_status(status)))


def head_bytes(status: int, reason: str, headers: Headers) -> bytes:
    """The status line and the fields, without the empty line that ends them."""
    return b"HTTP/1.1 %d %s\r\n%s" % (status, reason_bytes(status, reason), field_bytes(headers))


def field_bytes(headers: Headers) -> bytes:
    return "".join(f"{name}: {value}\r\n" for name, value in headers).encode("latin-1")


def reason_bytes(status: int, reason: str) -> bytes:
    """The reason phrase of the origin, else the usual one for the status."""
    return (reason or _usual_reason(status)).encode("latin-1", "replace")


def _usual_reason(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""
