"""Connections to origins: what is written on them, and which of them carry another request.

mitmproxy keeps the connections to origins of one client connection and uses them again. Four things are added:

- Methods are case-sensitive. mitmproxy makes `hEaD` a HEAD and expects no body, where the origin may send one.
- A connection is retired after an exchange that may leave its two ends in doubt where the next message begins
  (proxy/cache/exchanges.py): it is closed once the answer is there, and the origin is told so beforehand.
- A request whose answer may be shared never goes over a connection that carried a body before. Where the origin did
  not read that body, the client's own next uploads may be answered wrongly, as without us, but nobody else is.
- What goes out is framed by us, and without the fields that were meant for our connection only.

Connections are remembered weakly, by what happened on them. `install` checks the internals this relies on.
"""

from collections.abc import Callable, Generator
from dataclasses import replace
from functools import lru_cache
from typing import Any
from weakref import WeakSet

from mitmproxy import http
from mitmproxy.connection import Client, Connection
from mitmproxy.net.http.http1 import read
from mitmproxy.proxy import commands, events
from mitmproxy.proxy.layers import http as layers
from mitmproxy.proxy.layers.http import GetHttpConnection, HttpStream, _http2
from mitmproxy.proxy.layers.http._http1 import Http1Client, Http1Connection

from addons.flows import field_pairs, header_list
from proxy.cache.exchanges import answer_leaves_doubt, is_token, request_leaves_doubt
from proxy.cache.hopbyhop import asks_for_web_socket, forwarded_request
from proxy.errors import StartError

Steps = Generator[Any, Any, Any]

DOUBTFUL = "linkmend_doubtful"
"""Metadata: the answer came over a connection where it may belong to another request."""
_SHARED = "linkmend_shared"
_STATUS = "linkmend_status"
_OURS = "linkmend_wrapped"
_SHAREABLE = frozenset({"GET", "HEAD"})
_OF_A_PAGE = ("origin", "cookie", "authorization")
# Without any of these fields, and with a plain Connection, a request goes out as it is.
_TOUCHED = frozenset(
    (
        *(b"keep-alive", b"proxy-connection", b"te", b"upgrade", b"http2-settings", b"proxy-authorization"),
        *(b"content-length", b"transfer-encoding"),
    )
)

_retired: WeakSet[Connection] = WeakSet()
_carried_body: WeakSet[Connection] = WeakSet()
_said_too_much: WeakSet[Connection] = WeakSet()
_personal: WeakSet[Connection] = WeakSet()


def note_personal(client: Client) -> None:
    """From now on, nothing on this client's connection is shared (addons/connections.py)."""
    _personal.add(client)


def is_personal(client: Connection) -> bool:
    return client in _personal


def is_retired(server: Connection) -> bool:
    """Whether a connection to an origin carries no further request."""
    return server in _retired


def has_said_too_much(server: Connection) -> bool:
    """Whether more came over a connection to an origin than it was asked for."""
    return server in _said_too_much


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
    if not _is_method(method) or not line.endswith((b" HTTP/1.1", b" HTTP/1.0")):
        raise ValueError(f"Bad HTTP request line: {line!r}")


@lru_cache(maxsize=256)
def _is_method(method: bytes) -> bool:
    return is_token(method.decode("latin-1")) and (method == b"CONNECT" or method.upper() != b"CONNECT")


def is_sound(request: http.Request) -> bool:
    """Whether a request that came by HTTP/2 can be written as HTTP/1 without becoming another, or two."""
    data = request.data
    if not _is_method(data.method):
        return False
    parts = (
        data.scheme,
        data.authority,
        data.path,
        *(part for field in data.headers.fields for part in field),
    )
    joined = b"".join(parts)
    return not (b"\r" in joined or b"\n" in joined or b"\0" in joined or b" " in data.path)


# Which connection a request goes over


def _spec_matches(matches: Callable[[GetHttpConnection, Connection], bool]) -> Callable[..., bool]:
    def matching(self: GetHttpConnection, connection: Connection) -> bool:
        if connection in _retired or (vars(self).get(_SHARED) and connection in _carried_body):
            return False
        return matches(self, connection)

    return matching


def _making_connection(make: Callable[[HttpStream], Steps]) -> Callable[[HttpStream], Steps]:
    def make_server_connection(self: HttpStream) -> Steps:
        flow = self.flow
        steps = make(self)
        try:
            command = next(steps)
            if isinstance(command, GetHttpConnection):
                vars(command)[_SHARED] = self.context.client not in _personal and _may_be_shared(flow.request)
            while True:
                command = steps.send((yield command))
        except StopIteration as made:
            if made.value and flow.server_conn in _carried_body:
                flow.metadata[DOUBTFUL] = True
            return made.value

    return make_server_connection


def _may_be_shared(request: http.Request) -> bool:
    """Whether the answer may be stored. A POST's may be (RFC 9110 9.3.3), but none that a page in a browser sends."""
    if request.method != "POST":
        return request.method in _SHAREABLE
    return not any(name in request.headers for name in _OF_A_PAGE)


# What is written on it


def _sending(send: Callable[[Http1Client, Any], Steps]) -> Callable[[Http1Client, Any], Steps]:
    def sending(self: Http1Client, event: Any) -> Steps:
        if isinstance(event, layers.RequestHeaders):
            event = layers.RequestHeaders(event.stream_id, _outgoing(self, event), event.end_stream)
        return send(self, event)

    return sending


def _outgoing(self: Http1Client, event: layers.RequestHeaders) -> http.Request:
    """The request as it goes out; the flow keeps its own, by which mitmproxy treats the client's connection."""
    request = event.request
    is_plain = (
        event.end_stream
        and request.data.http_version in (b"HTTP/1.1", b"HTTP/1.0")
        and request.data.method in (b"GET", b"HEAD")
        and all(_is_plain(name, value) for name, value in request.headers.fields)
    )
    if is_plain:
        return request
    method, headers = request.method, header_list(request.headers)
    if request_leaves_doubt(method, headers, body_follows=not event.end_stream):
        _retired.add(self.conn)
    if not event.end_stream:
        _carried_body.add(self.conn)
    to_proxy = request.data.path.startswith((b"http:", b"https:")) or bool(
        self.context.server.via and request.data.authority and not self.context.server.tls
    )
    closes = self.conn in _retired
    if asks_for_web_socket(method, headers):
        _retired.add(self.conn)  # where it is refused; where not, the connection is no longer HTTP's
    fields = field_pairs(forwarded_request(method, headers, closes=closes, to_proxy=to_proxy))
    return _with_fields(request, _framed(request, fields, end_stream=event.end_stream))


def _framed(
    request: http.Request, fields: tuple[tuple[bytes, bytes], ...], *, end_stream: bool
) -> tuple[tuple[bytes, bytes], ...]:
    """The fields, with the length that the body really has. HTTP/2 needs to tell none, and may tell another."""
    names = {name.lower(): value for name, value in fields}
    if b"transfer-encoding" in names:
        return fields
    if not request.stream:
        told, real = names.get(b"content-length"), b"%d" % len(request.raw_content or b"")
        if told == real or (told is None and end_stream):
            return fields
        kept = tuple(field for field in fields if field[0].lower() != b"content-length")
        return (*kept, (b"Content-Length", real))
    if not end_stream and b"content-length" not in names:
        return (*fields, (b"Transfer-Encoding", b"chunked"))
    return fields


def _with_fields(request: http.Request, fields: tuple[tuple[bytes, bytes], ...]) -> http.Request:
    made = object.__new__(http.Request)
    vars(made).update(vars(request))
    made.data = replace(request.data, headers=http.Headers(fields))
    return made


@lru_cache(maxsize=4096)
def _is_plain_name(name: bytes) -> bool:
    lower = name.lower()
    return lower not in _TOUCHED and lower != b"connection" and b"_" not in lower


def _is_plain(name: bytes, value: bytes) -> bool:
    return _is_plain_name(name) or (value in (b"keep-alive", b"close") and name.lower() == b"connection")


def _formatting(form: Callable[..., Steps]) -> Callable[..., Steps]:
    def format_request(context: Any, event: layers.RequestHeaders) -> Steps:
        request = event.request
        kept = forwarded_request(
            request.method, header_list(request.headers), closes=False, to_proxy=False, http2=True
        )
        made = _with_fields(request, field_pairs(kept))
        return (yield from form(context, layers.RequestHeaders(event.stream_id, made, event.end_stream)))

    return format_request


# What comes back


def _reading_head(read_headers: Callable[..., Steps]) -> Callable[..., Steps]:
    def reading(self: Http1Client, event: events.Event) -> Steps:
        for command in read_headers(self, event):
            if isinstance(command, layers.ReceiveHttp) and isinstance(command.event, layers.ResponseHeaders):
                _judge_head(self, command.event.response)
            yield command

    return reading


def _reading_body(read_body: Callable[..., Steps]) -> Callable[..., Steps]:
    def reading(self: Http1Client, event: events.Event) -> Steps:
        for command in read_body(self, event):
            _judge_end(self, command)
            yield command

    return reading


def _judge_head(self: Http1Client, response: http.Response) -> None:
    """Before any addon has touched it."""
    vars(self)[_STATUS] = response.status_code
    if not self.request_done or answer_leaves_doubt(
        response.status_code, header_list(response.headers), version=response.http_version
    ):
        _retired.add(self.conn)


def _judge_end(self: Http1Client, command: Any) -> None:
    """Before the answer is taken for whole: is there more?"""
    if (
        self.buf
        and isinstance(command, layers.ReceiveHttp)
        and isinstance(command.event, layers.ResponseEndOfMessage)
        and (self.response is None or self.response.status_code != 101)
    ):
        _retired.add(self.conn)
        # The answer itself is done with by now, and forgotten.
        if _may_be_answer(bytes(self.buf)[:5]) or vars(self).get(_STATUS) != 200:
            _said_too_much.add(self.conn)


def _may_be_answer(left: bytes) -> bool:
    """Whether what is left over begins another answer: then this one may be another's. Else its length was wrong."""
    return left.lstrip(b"\r\n")[:5] == b"HTTP/"[: len(left.lstrip(b"\r\n"))]


def _mark_done(self: Http1Client, *, request: bool = False, response: bool = False) -> Steps:
    asked, answer = self.request, self.response
    if response and asked is not None and asked.method == "HEAD" and self.context.client not in _personal:
        _retired.add(self.conn)  # some send a body all the same, a moment later
    if response and answer is not None and answer.status_code == 101 and not _asked_to_change(asked):
        self.state = self.done
        yield commands.CloseConnection(self.conn)
        return
    if response and not self.request_done:
        self.state = self.done  # an answer to half a request: what else comes is nobody's
    yield from Http1Connection.mark_done(self, request=request, response=response)
    if self.request is None and self.conn in _retired and self.state == self.read_headers:
        self.state = self.done
        yield commands.CloseConnection(self.conn)


def _asked_to_change(request: http.Request | None) -> bool:
    return request is not None and asks_for_web_socket(request.method, header_list(request.headers))


def _read_request_line(line_reader: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
    def reading(line: bytes) -> Any:
        _refuse_odd_line(line)
        return line_reader(line)

    return reading


_NEEDED: tuple[tuple[object, tuple[str, ...]], ...] = (
    (Http1Client, ("send", "read_headers", "read_body", "mark_done", "passthrough", "done")),
    (GetHttpConnection, ("connection_spec_matches",)),
    (HttpStream, ("make_server_connection",)),
    (_http2, ("format_h2_request_headers",)),
    (read, ("_read_request_line",)),
)


def install() -> None:
    """Have mitmproxy treat connections to origins so; after all that changes the same. Raises StartError."""
    missing = [name for where, names in _NEEDED for name in names if not callable(getattr(where, name, None))]
    if missing or not isinstance(http.Request.method, property):
        raise StartError(f"this mitmproxy is not supported: its connections have no {', '.join(missing)}")
    http.Request.method = property(_method, _set_method)  # type: ignore[assignment]
    _wrap(read, "_read_request_line", _read_request_line)
    _wrap(GetHttpConnection, "connection_spec_matches", _spec_matches)
    _wrap(HttpStream, "make_server_connection", _making_connection)
    _wrap(Http1Client, "send", _sending)
    _wrap(Http1Client, "read_headers", _reading_head)
    _wrap(Http1Client, "read_body", _reading_body)
    _wrap(_http2, "format_h2_request_headers", _formatting)
    Http1Client.mark_done = _mark_done  # type: ignore[method-assign]


def _wrap(where: object, name: str, wrap: Callable[[Any], Any]) -> None:
    """Once: what was wrapped before stays, unless somebody has put another in its place since."""
    current = getattr(where, name)
    if not hasattr(current, _OURS):
        wrapped = wrap(current)
        setattr(wrapped, _OURS, True)
        setattr(where, name, wrapped)
