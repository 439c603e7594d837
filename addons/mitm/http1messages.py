"""HTTP/1 message boundaries: pipelined requests, trailers, refused uploads.

Pipelined requests are read in a loop instead of recursively, which failed after some hundred of them.
(addons/mitm/originclient.py handles their responses.)

mitmproxy fails on trailers. Here they are read and dropped on HTTP/1 (RFC 9110 6.5.1 allows that; nothing on the web
relies on them there); from HTTP/2 to HTTP/2 they are forwarded.
"""

from collections.abc import Generator
from typing import Any

import h11
from h11._receivebuffer import ReceiveBuffer
from mitmproxy.proxy import commands, events
from mitmproxy.proxy.layers import http as layers
from mitmproxy.proxy.layers.http import _http1
from mitmproxy.proxy.layers.http._events import HttpEvent, ResponseData, ResponseHeaders, ResponseTrailers
from mitmproxy.proxy.layers.http._http1 import Http1Connection, Http1Server

from addons.mitm.bufferlimits import refuse_head
from addons.mitm.protocolerrors import request_error, response_error
from proxy.errors import StartError

UNWANTED_BYTES = 16 * 1024 * 1024
"""How much of an upload is read and dropped once its answer is complete; then the connection ends."""

_NEEDED = ("_handle_event", "read_headers", "read_body", "mark_done", "make_pipe")
_NEEDED_OF_MODULE = ("should_make_pipe", "make_body_reader")
_EMPTY = ReceiveBuffer()
_BUSY = "linkmend_busy"
_SKIPPED = "linkmend_skipped"
_LINE_ENDS = (b"\r", b"\n")
MAX_EMPTY_LINES = 100
"""In front of a request. A browser sends one at most; thousands of them would keep the event loop busy."""
_handle_event = Http1Connection._handle_event
_mark_done = Http1Server.mark_done
_server_send = Http1Server.send


def read_body(self: Http1Connection, event: events.Event) -> Generator[Any, Any, None]:
    """mitmproxy's, which drops trailers and leaves the end of a message to `end_message`."""
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
            failed = request_error if is_server else response_error
            yield layers.ReceiveHttp(failed(_stream_of(self), f"HTTP/1 protocol error: {error}"))
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
            yield from self.end_message()  # type: ignore[attr-defined]
            return


def end_request(self: Http1Server) -> Generator[Any, Any, None]:
    """The request is whole; mitmproxy tells of no end where a tunnel begins."""
    if self.request is None or self.request.data.method != b"CONNECT":
        yield layers.ReceiveHttp(layers.RequestEndOfMessage(self.stream_id))
    yield from self.mark_done(request=True)


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
    steps = _mark_done(self, request=request, response=response)
    is_last = (request or self.request_done) and (response or self.response_done)
    if not self.buf or not is_last or self.request is None or self.response is None:
        return steps
    return (
        steps if _http1.should_make_pipe(self.request, self.response) else _with_nothing_waiting(self, steps)
    )


def _with_nothing_waiting(self: Http1Server, steps: Generator[Any, Any, None]) -> Generator[Any, Any, None]:
    waiting, self.buf = self.buf, _EMPTY
    try:
        yield from steps
    finally:
        self.buf = waiting


def handle_event(self: Http1Server, event: events.Event) -> Generator[Any, Any, None]:
    if isinstance(event, ResponseHeaders | ResponseData):
        return self.send(event)
    if _BUSY in vars(self):
        # An answer, if only 100 Continue, while a request is handed on: what lies behind it is not read within that.
        return _handle_event(self, event)
    return _read_on(self, event)


def _read_on(self: Http1Server, event: events.Event) -> Generator[Any, Any, None]:
    vars(self)[_BUSY] = True
    try:
        yield from _handle_event(self, event)
        # mitmproxy skips one empty line at a time (RFC 9112 2.2), each at the cost of moving all that is behind it.
        left, skipped = -1, vars(self).get(_SKIPPED, 0)
        while self.state == self.read_headers and self.buf and len(self.buf) != left:
            left = len(self.buf)
            skipped = skipped + 1 if self.buf._data[:1] in _LINE_ENDS else 0
            if skipped > MAX_EMPTY_LINES:
                yield from refuse_head(self, 431, "too many empty lines")
                return
            yield from self.state(events.DataReceived(self.conn, b""))
        vars(self)[_SKIPPED] = skipped
    finally:
        del vars(self)[_BUSY]


def send_to_client(self: Http1Server, event: HttpEvent) -> Generator[Any, Any, None]:
    if isinstance(event, ResponseTrailers):
        return send_nothing()
    if isinstance(event, ResponseHeaders) and event.response.status_code in _INTERIM:
        return _send_interim(self, event)
    return _server_send(self, event)


def _send_interim(self: Http1Server, event: HttpEvent) -> Generator[Any, Any, None]:
    before = self.response
    yield from _server_send(self, event)
    self.response = before  # an interim response is no answer yet: an error may still be told


def send_nothing() -> Generator[Any, Any, None]:
    yield from ()


_INTERIM = frozenset(range(100, 200)) - {101}


def install() -> None:
    """Have mitmproxy read messages this way. Raises StartError when its internals have changed."""
    missing = [name for name in _NEEDED if not callable(getattr(Http1Connection, name, None))]
    missing += [name for name in _NEEDED_OF_MODULE if not callable(getattr(_http1, name, None))]
    if missing:
        raise StartError(f"this mitmproxy is not supported: HTTP/1 has no {', '.join(missing)}")
    Http1Server.read_body = read_body  # type: ignore[method-assign]
    Http1Server.end_message = end_request  # type: ignore[attr-defined]
    Http1Server.mark_done = mark_done  # type: ignore[method-assign]
    Http1Server._handle_event = handle_event  # type: ignore[method-assign,assignment]
    Http1Server.send = send_to_client  # type: ignore[method-assign]
