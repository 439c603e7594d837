"""addons.internals.messages: where one message ends and the next begins."""

import pytest
from mitmproxy import http, options
from mitmproxy.connection import Client, ConnectionState, Server
from mitmproxy.proxy import commands, events
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers.http import ReceiveHttp
from mitmproxy.proxy.layers.http._events import (
    RequestData,
    RequestEndOfMessage,
    RequestHeaders,
    RequestTrailers,
    ResponseEndOfMessage,
    ResponseHeaders,
    ResponseTrailers,
)
from mitmproxy.proxy.layers.http._http1 import Http1Client, Http1Connection, Http1Server

from addons.internals import messages

TRAILERS = http.Headers([(b"x-sum", b"1")])


@pytest.fixture(autouse=True)
def _installed(monkeypatch):
    patched = {
        Http1Connection: ("read_body",),
        Http1Server: ("mark_done", "_handle_event", "send"),
        Http1Client: ("send",),
    }
    for kind, names in patched.items():
        for name in names:
            monkeypatch.setattr(kind, name, getattr(kind, name))
    messages.install()


def a_context():
    client = Client(peername=("127.0.0.1", 1), sockname=("127.0.0.1", 2), timestamp_start=0)
    client.state = ConnectionState.OPEN
    context = Context(client, options.Options())
    context.server = Server(address=("school.test", 80))
    return context


def an_origin(request=None):
    origin = Http1Client(a_context())
    list(origin.handle_event(events.Start()))
    request = request or http.Request.make("GET", "http://school.test/")
    list(origin.handle_event(RequestHeaders(1, request, end_stream=True)))
    list(origin.handle_event(RequestEndOfMessage(1)))
    return origin


def test_a_connection_is_free_when_the_end_of_its_answer_is_told():
    """The next request may be sent in that very moment, and is then the one whose answer is waited for."""
    origin, order = an_origin(), []
    data = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
    for command in origin.handle_event(events.DataReceived(origin.conn, data)):
        if isinstance(command, ReceiveHttp) and isinstance(command.event, ResponseEndOfMessage):
            later = http.Request.make("GET", "http://school.test/later")
            order += origin.handle_event(RequestHeaders(3, later, end_stream=True))
            order += origin.handle_event(RequestEndOfMessage(3))
    assert b"/later" in order[0].data
    told = list(origin.handle_event(events.DataReceived(origin.conn, data)))
    assert isinstance(told[0].event, ResponseHeaders)
    assert told[0].event.stream_id == 3


def test_trailers_of_an_answer_are_left_out():
    origin = an_origin()
    data = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nX-Sum: 1\r\n\r\n"
    told = [command.event for command in origin.handle_event(events.DataReceived(origin.conn, data))]
    assert isinstance(told[-1], ResponseEndOfMessage)


def test_trailers_from_http2_are_not_sent_by_http1():
    origin = an_origin()
    assert list(origin.handle_event(RequestTrailers(1, TRAILERS))) == []
    client = Http1Server(a_context())
    list(client.handle_event(events.Start()))
    assert list(client.handle_event(ResponseTrailers(1, TRAILERS))) == []


def test_a_body_of_unknown_length_from_http2_is_chunked():
    request = http.Request.make("POST", "http://school.test/", content=b"")
    request.http_version = "HTTP/2.0"
    del request.headers["content-length"]
    origin = Http1Client(a_context())
    list(origin.handle_event(events.Start()))
    sent = [
        command.data
        for event in (
            RequestHeaders(1, request, end_stream=False),
            RequestData(1, b"GET / HTTP/1.1"),
            RequestEndOfMessage(1),
        )
        for command in origin.handle_event(event)
        if isinstance(command, commands.SendData)
    ]
    assert b"transfer-encoding: chunked\r\n" in sent[0]
    assert sent[1:] == [b"e\r\nGET / HTTP/1.1\r\n", b"0\r\n\r\n"]
    assert "transfer-encoding" not in request.headers
