"""The same answers with less work, for what mitmproxy asks itself some thirty times a request: header fields, hosts.

A lookup of a header field goes through five calls and, when it is not there, an exception. The request line is
parsed twice, with the host encoded and decoded three times; the hosts that a school asks are few. `install` checks
that the shortcuts lead to the same place.
"""

import re
from functools import lru_cache
from typing import Any

from mitmproxy.http import Headers
from mitmproxy.net.http.http1 import read

from proxy.errors import StartError

_PLAIN = re.compile(
    rb"(?!CONNECT )([A-Z]{1,20}) (http)://([a-z0-9.-]{1,255}(?::[0-9]{1,5})?)(/[!\"$-~]*) (HTTP/1\.[01])"
)
_HOSTS = 2000
_PROBE = b"GET http://school.test:8080/a?b=c HTTP/1.1"

RequestLine = tuple[str, int, bytes, bytes, bytes, bytes, bytes]
_read_request_line = read._read_request_line


def get_all(self: Headers, name: str | bytes) -> list[str]:
    """Every value of a field."""
    wanted = (name.encode("utf-8", "surrogateescape") if isinstance(name, str) else name).lower()
    return [value.decode("utf-8", "surrogateescape") for key, value in self.fields if key.lower() == wanted]


def get(self: Headers, name: str | bytes, default: Any = None) -> Any:
    """The values of a field, joined."""
    found = get_all(self, name)
    return ", ".join(found) if found else default


def contains(self: Headers, name: object) -> bool:
    return isinstance(name, str | bytes) and bool(get_all(self, name))


def read_request_line(line: bytes) -> RequestLine:
    """Raises ValueError."""
    found = _PLAIN.fullmatch(line)
    if found is None:
        return _read_request_line(line)
    method, scheme, authority, path, version = found.groups()
    try:
        host, port = _destination(authority)
    except ValueError:
        return _read_request_line(line)  # for its own words
    return host, port, method, scheme, authority, path, version


@lru_cache(maxsize=_HOSTS)
def _destination(authority: bytes) -> tuple[str, int]:
    return _read_request_line(b"GET http://%s/ HTTP/1.1" % authority)[:2]


def install() -> None:
    """Have mitmproxy take the shortcuts. Raises StartError when they do not lead to the same place."""
    fields = Headers([(b"Host", b"a"), (b"X-A", b"1"), (b"x-a", b"2")])
    for name in ("host", "x-a", "absent"):
        found = (get_all(fields, name), get(fields, name), contains(fields, name))
        if found != (fields.get_all(name), fields.get(name), name in fields):
            raise StartError(f"this mitmproxy is not supported: another way to look up {name!r}")
    if read_request_line(_PROBE) != _read_request_line(_PROBE):
        raise StartError("this mitmproxy is not supported: request lines are read in another way")
    Headers.get_all = get_all  # type: ignore[method-assign]
    Headers.get = get  # type: ignore[method-assign,assignment]
    Headers.__contains__ = contains  # type: ignore[method-assign,assignment]
    read._read_request_line = read_request_line
