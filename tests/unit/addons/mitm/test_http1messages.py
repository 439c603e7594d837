"""addons.mitm.http1messages: where one message ends and the next begins."""

import pytest
from mitmproxy import http, options
from mitmproxy.connection import Client, ConnectionState, Server
from mitmproxy.proxy import events
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers.http import ReceiveHttp
from mitmproxy.proxy.layers.http._events import (
    RequestEndOfMessage,
    RequestHeaders,
    RequestTrailers,
    ResponseEndOfMessage,
    ResponseHeaders,
    ResponseTrailers,
)
from mitmproxy.proxy.layers.http._http1 import Http1Server

from addons.mitm import http1messages
from addons.mitm.originclient import OriginClient

TRAILERS = http.Headers([(b"x-sum", b"1")])


@pytest.fixture(autouse=True)
def _installed(monkeypatch):
    for name in ("read_body", "mark_done", "_handle_event", "send"):
        monkeypatch.setattr(Http1Server, name, getattr(Http1Server, name))
    http1messages.install()


def a_context():
    client = Client(peername=("127.0.0.1", 1), sockname=("127.0.0.1", 2), timestamp_start=0)
    client.state = ConnectionState.OPEN
    context = Context(client, options.Options())
    context.server = Server(address=("school.test", 80))
    return context


def an_origin(request=None):
    origin = OriginClient(a_context())
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
