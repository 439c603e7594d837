"""Where one HTTP/1 message ends and the next begins: pipelined requests, trailers, bodies that come from HTTP/2.

mitmproxy hands the end of an answer on before it has noted that the origin's connection is free. With hooks that do
not wait, a client's next request, which lies ready when requests are pipelined, then goes out on that connection in
the same moment, as part of the exchange that is just ending: its answer is taken for unexpected data, and nobody gets
it. So the connection is freed first. Requests that came together are read one after the other instead of each within
the last, which ended after some hundred of them.

Trailers, on which mitmproxy stops, are read and dropped on HTTP/1 (RFC 9110 6.5.1 allows that; nothing on the web
relies on them there); between HTTP/2 and HTTP/2 they are passed on. A request body that comes by HTTP/2 without its
length is sent chunked: bare, its origin would take it for the next request.
"""

from collections.abc import Generator
from typing import Any

import h11
from h11._receivebuffer import ReceiveBuffer
from mitmproxy.proxy import commands, events
from mitmproxy.proxy.layers import http as layers
from mitmproxy.proxy.layers.http import _http1
from mitmproxy.proxy.layers.http._events import (
    HttpEvent,
    RequestHeaders,
    RequestTrailers,
    ResponseHeaders,
    ResponseTrailers,
)
from mitmproxy.proxy.layers.http._http1 import Http1Client, Http1Connection, Http1Server

from proxy.errors import StartError

UNWANTED_BYTES = 16 * 1024 * 1024
"""How much of an upload is read and dropped once its answer is complete; then the connection ends."""

_NEEDED = ("_handle_event", "read_headers", "read_body", "mark_done", "make_pipe")
_NEEDED_OF_MODULE = ("should_make_pipe", "make_body_reader")
_EMPTY = ReceiveBuffer()
_BUSY = "linkmend_busy"
_handle_event = Http1Connection._handle_event
_mark_done = Http1Server.mark_done
_server_send = Http1Server.send
_client_send = Http1Client.send


def read_body(self: Http1Connection, event: events.Event) -> Generator[Any, Any, None]:
    """mitmproxy's, which drops trailers and frees the origin's connection before it tells of an answer's end."""
    is_server = isinstance(self, Http1Server)
    if is_server and self.response_done:
        yield from _drop_upload(self, event)
        return
    while True:
        try:
            if isinstance(event, events.DataReceived):
                read = self.body_reader(self.buf)
            else:
                read = self.body_reader.read_eof()
        except h11.ProtocolError as error:
            yield commands.CloseConnection(self.conn)
            failed = broken(self.ReceiveProtocolError, _stream_of(self), f"HTTP/1 protocol error: {error}")
            yield layers.ReceiveHttp(failed)
            return
        if read is None:
            return
        if isinstance(read, h11.Data):
            if read.data:
                yield layers.ReceiveHttp(self.ReceiveData(_stream_of(self), bytes(read.data)))
            if is_server and self.response_done:
                yield from _drop_upload(self, event)
                return
        else:
            yield from _end(self, is_server)
            return


def broken(kind: type[Any], stream_id: int, message: str) -> Any:
    """An event of mitmproxy's that tells of a broken message; since version 12 it needs a code."""
    codes = getattr(layers, "ErrorCode", None)
    if codes is None:
        return kind(stream_id, message)
    is_request = kind is layers.RequestProtocolError
    return kind(stream_id, message, codes.GENERIC_CLIENT_ERROR if is_request else codes.GENERIC_SERVER_ERROR)


def _end(self: Http1Connection, is_server: bool) -> Generator[Any, Any, None]:
    ended = layers.ReceiveHttp(self.ReceiveEndOfMessage(_stream_of(self)))
    is_connect = self.request is not None and self.request.data.method.upper() == b"CONNECT"
    changes_protocol = self.response is not None and self.response.status_code == 101
    if is_server or is_connect or changes_protocol:
        if not is_connect:
            yield ended
        yield from self.mark_done(request=is_server, response=not is_server)
        return
    if not self.request_done:
        # Nobody reads the rest of the upload: what is sent after an answer is no part of one.
        self.state = self.done
        self.response_done = True
        yield ended
        return
    yield from self.mark_done(response=True)
    yield ended


def _drop_upload(self: Http1Connection, event: events.Event) -> Generator[Any, Any, None]:
    """The answer is complete and the request is not: read on, so that the client comes to read its answer."""
    dropped = vars(self).get("linkmend_dropped", 0)
    while True:
        try:
            read = self.body_reader(self.buf) if isinstance(event, events.DataReceived) else None
        except h11.ProtocolError:
            read = None
            dropped = UNWANTED_BYTES + 1
        if isinstance(read, h11.Data):
            dropped += len(read.data)
            continue
        break
    vars(self)["linkmend_dropped"] = dropped
    if isinstance(read, h11.EndOfMessage):
        vars(self)["linkmend_dropped"] = 0
        yield from self.mark_done(request=True)
    elif dropped > UNWANTED_BYTES or not isinstance(event, events.DataReceived):
        self.state = self.done
        yield commands.CloseConnection(self.conn)


def _stream_of(self: Http1Connection) -> int:
    if self.stream_id is None:
        raise ValueError("a body that belongs to no request")
    return self.stream_id


def mark_done(
    self: Http1Server, *, request: bool = False, response: bool = False
) -> Generator[Any, Any, None]:
    """mitmproxy's, which leaves the next request to `handle_event` instead of reading it within this one."""
    is_last = (request or self.request_done) and (response or self.response_done)
    if (
        not is_last
        or self.request is None
        or self.response is None
        or _http1.should_make_pipe(self.request, self.response)
    ):
        yield from _mark_done(self, request=request, response=response)
        return
    waiting, self.buf = self.buf, _EMPTY
    try:
        yield from _mark_done(self, request=request, response=response)
    finally:
        self.buf = waiting


def handle_event(self: Http1Server, event: events.Event) -> Generator[Any, Any, None]:
    if _BUSY in vars(self):
        # An answer, if only 100 Continue, while a request is handed on: what lies behind it is not read within that.
        yield from _handle_event(self, event)
        return
    vars(self)[_BUSY] = True
    try:
        yield from _handle_event(self, event)
        # Empty lines between requests are left out one at a time (RFC 9112 2.2).
        left = -1
        while self.buf and self.state == self.read_headers and len(self.buf) != left:
            left = len(self.buf)
            yield from self.state(events.DataReceived(self.conn, b""))
    finally:
        del vars(self)[_BUSY]


def send_to_client(self: Http1Server, event: HttpEvent) -> Generator[Any, Any, None]:
    if isinstance(event, ResponseTrailers):
        return
    if isinstance(event, ResponseHeaders) and event.response.status_code in _INTERIM:
        before = self.response
        yield from _server_send(self, event)
        self.response = before  # an interim response is no answer yet: an error may still be told
        return
    yield from _server_send(self, event)


_INTERIM = frozenset(range(100, 200)) - {101}


def send_to_origin(self: Http1Client, event: HttpEvent) -> Generator[Any, Any, None]:
    if isinstance(event, RequestTrailers):
        return
    if (
        isinstance(event, RequestHeaders)
        and not event.end_stream
        and event.request.is_http2
        and "content-length" not in event.request.headers
    ):
        chunked = event.request.copy()
        chunked.headers["transfer-encoding"] = "chunked"
        event = RequestHeaders(event.stream_id, chunked, event.end_stream, event.replay_flow)
    yield from _client_send(self, event)


def install() -> None:
    """Have mitmproxy read messages this way. Raises StartError when its internals have changed."""
    missing = [name for name in _NEEDED if not callable(getattr(Http1Connection, name, None))]
    missing += [name for name in _NEEDED_OF_MODULE if not callable(getattr(_http1, name, None))]
    if missing:
        raise StartError(f"this mitmproxy is not supported: HTTP/1 has no {', '.join(missing)}")
    Http1Connection.read_body = read_body  # type: ignore[method-assign]
    Http1Server.mark_done = mark_done  # type: ignore[method-assign]
    Http1Server._handle_event = handle_event  # type: ignore[method-assign,assignment]
    Http1Server.send = send_to_client  # type: ignore[method-assign]
    Http1Client.send = send_to_origin  # type: ignore[method-assign]
