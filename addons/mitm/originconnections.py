"""Reuse of connections to origins.

mitmproxy reuses the connections to origins within one client connection. We add four rules:

- Methods are case-sensitive. mitmproxy reads `hEaD` as HEAD and expects no body, but the origin may send one.
- A retired connection carries no further request (addons/mitm/originclient.py retires them).
- Nor does one on which something has arrived that nobody asked for (addons/mitm/arrivals.py).
- A request whose response may be shared never uses a connection that carried a body before. If the origin did not
  read that body, the client's own next uploads may get wrong responses, as without a proxy, but no other client does.

Notes about connections are weak references. `install` checks the internals this relies on.
"""

from collections.abc import Callable, Generator
from functools import lru_cache
from typing import Any

from mitmproxy import http
from mitmproxy.connection import Connection
from mitmproxy.net.http.http1 import read
from mitmproxy.proxy.layers.http import GetHttpConnection, HttpStream

from addons.flowstate import state_of
from addons.mitm.arrivals import has_unread
from addons.mitm.connectionset import ConnectionSet
from proxy.errors import StartError
from proxy.headers.framing import is_token

Steps = Generator[Any, Any, Any]

_SHARED = "linkmend_shared"
_OURS = "linkmend_wrapped"
_SHAREABLE = frozenset({"GET", "HEAD"})
_OF_A_PAGE = ("origin", "cookie", "authorization")

retired = ConnectionSet()
"""Connections to origins that carry no further request."""
carried_body = ConnectionSet()
said_too_much = ConnectionSet()
"""Connections to origins over which more came than was asked for."""
personal = ConnectionSet()
"""Connections of clients of which nothing is shared."""


class ExactMethod(str):
    """A method that is not all in upper case. mitmproxy compares `method.upper()` with those it knows."""

    __slots__ = ()

    def upper(self) -> str:
        return self


@lru_cache(maxsize=256)
def _exact(method: bytes) -> str:
    text = method.decode("utf-8", "surrogateescape")
    return text if text == text.upper() else ExactMethod(text)


def _method(self: http.Request) -> str:
    """HTTP request method, as it was sent."""
    return _exact(self.data.method)


def _set_method(self: http.Request, method: str | bytes) -> None:
    self.data.method = method.encode("utf-8", "surrogateescape") if isinstance(method, str) else method


def _refuse_odd_line(line: bytes) -> None:
    """Raises ValueError for what is no method, a CONNECT that only some would take for one, another version."""
    method = line.partition(b" ")[0]
    if not is_method(method) or not line.endswith((b" HTTP/1.1", b" HTTP/1.0")):
        raise ValueError(f"Bad HTTP request line: {line!r}")


@lru_cache(maxsize=256)
def is_method(method: bytes) -> bool:
    """Whether every origin takes it for the same method, or for none."""
    return is_token(method.decode("latin-1")) and (method == b"CONNECT" or method.upper() != b"CONNECT")


# Which connection a request goes over


def _spec_matches(matches: Callable[[GetHttpConnection, Connection], bool]) -> Callable[..., bool]:
    def matching(self: GetHttpConnection, connection: Connection) -> bool:
        if connection in retired or (vars(self).get(_SHARED) and connection in carried_body):
            return False
        if not matches(self, connection):
            return False
        if connection.alpn != b"h2" and has_unread(connection):
            retired.add(connection)
            return False
        return True

    return matching


def _making_connection(make: Callable[[HttpStream], Steps]) -> Callable[[HttpStream], Steps]:
    def make_server_connection(self: HttpStream) -> Steps:
        flow = self.flow
        steps = make(self)
        try:
            command = next(steps)
            if isinstance(command, GetHttpConnection):
                vars(command)[_SHARED] = self.context.client not in personal and _may_be_shared(flow.request)
            while True:
                command = steps.send((yield command))
        except StopIteration as made:
            if made.value and flow.server_conn in carried_body:
                state_of(flow).is_doubtful = True
            return made.value

    return make_server_connection


def _may_be_shared(request: http.Request) -> bool:
    """Whether the answer may be stored. A POST's may be (RFC 9110 9.3.3), but none that a page in a browser sends."""
    if request.method != "POST":
        return request.method in _SHAREABLE
    return not any(name in request.headers for name in _OF_A_PAGE)


# Its request line


def _read_request_line(line_reader: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
    def reading(line: bytes) -> Any:
        _refuse_odd_line(line)
        return line_reader(line)

    return reading


_NEEDED: tuple[tuple[object, tuple[str, ...]], ...] = (
    (GetHttpConnection, ("connection_spec_matches",)),
    (HttpStream, ("make_server_connection",)),
    (read, ("_read_request_line",)),
)


def install() -> None:
    """Have mitmproxy treat connections to origins so; after fasterheaders.install(). Raises StartError."""
    missing = [name for where, names in _NEEDED for name in names if not callable(getattr(where, name, None))]
    if missing or not isinstance(http.Request.method, property):
        raise StartError(f"this mitmproxy is not supported: its connections have no {', '.join(missing)}")
    http.Request.method = property(_method, _set_method)  # type: ignore[assignment]
    _wrap(read, "_read_request_line", _read_request_line)
    _wrap(GetHttpConnection, "connection_spec_matches", _spec_matches)
    _wrap(HttpStream, "make_server_connection", _making_connection)


def _wrap(where: object, name: str, wrap: Callable[[Any], Any]) -> None:
    """Once: what was wrapped before stays, unless somebody has put another in its place since."""
    current = getattr(where, name)
    if not hasattr(current, _OURS):
        wrapped = wrap(current)
        setattr(wrapped, _OURS, True)
        setattr(where, name, wrapped)
