"""addons.mitm.bufferlimits: what a peer may send before it has said anything."""

import pytest
from mitmproxy import http, options
from mitmproxy.connection import Client, ConnectionState, Server
from mitmproxy.net.http import http1
from mitmproxy.net.http.http1 import read
from mitmproxy.proxy import commands, events
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers.http import ReceiveHttp, _http1
from mitmproxy.proxy.layers.http._events import (
    RequestData,
    RequestEndOfMessage,
    RequestHeaders,
    RequestProtocolError,
    ResponseData,
    ResponseHeaders,
    ResponseProtocolError,
)
from mitmproxy.proxy.layers.http._http1 import Http1Server

from addons.mitm import bufferlimits, http1heads
from addons.mitm.originclient import OriginClient

PIECE = 65_535


@pytest.fixture(autouse=True)
def _installed(monkeypatch):
    monkeypatch.setattr(_http1, "ReceiveBuffer", _http1.ReceiveBuffer)
    for name in ("read_headers", "wait"):
        monkeypatch.setattr(Http1Server, name, getattr(Http1Server, name))
    monkeypatch.setattr(read, "_read_headers", read._read_headers)
    for module in (read, http1):
        for name in ("read_request_head", "read_response_head"):
            monkeypatch.setattr(module, name, getattr(module, name))
    http1heads.install()
    bufferlimits.install()


class Peer:
    """mitmproxy's side of a connection to a client, or to an origin after a request was sent."""

    def __init__(self, kind):
        client = Client(peername=("127.0.0.1", 1), sockname=("127.0.0.1", 2), timestamp_start=0)
        client.state = ConnectionState.OPEN
        context = Context(client, options.Options())
        context.server = Server(address=("school.test", 80))
        self.layer = kind(context)
        self.done = []
        self.feed(events.Start())
        if kind is OriginClient:
            self.feed(RequestHeaders(1, http.Request.make("GET", "http://school.test/"), end_stream=True))
            self.feed(RequestEndOfMessage(1))
        self.done.clear()

    def feed(self, event):
        self.done += self.layer.handle_event(event)

    def sends(self, data, *, pieces=1):
        for _ in range(pieces):
            if self.is_closed:
                break
            self.feed(events.DataReceived(self.layer.conn, data))
        return self

    @property
    def is_closed(self):
        return any(isinstance(command, commands.CloseConnection) for command in self.done)

    @property
    def answer(self):
        return b"".join(command.data for command in self.done if isinstance(command, commands.SendData))

    def received(self, kind):
        return [
            command.event
            for command in self.done
            if isinstance(command, ReceiveHttp) and isinstance(command.event, kind)
        ]


@pytest.mark.parametrize(
    "data",
    [b"GET /" + b"a" * PIECE, b"GET / HTTP/1.1\r\n" + b"X: 1\r\n" * 10_000, b"\r\n" * 30_000],
    ids=["a long line", "many fields", "empty lines"],
)
def test_a_client_whose_request_head_never_ends_is_told_so_and_let_go(data):
    client = Peer(Http1Server).sends(data, pieces=100)
    assert client.is_closed
    assert client.answer.startswith(b"HTTP/1.1 431 ")
    assert len(client.layer.buf) < bufferlimits.HEAD_BYTES + 2 * PIECE
    assert not client.received(RequestHeaders)


def test_too_many_fields_in_a_whole_head_are_too_much_as_well():
    client = Peer(Http1Server).sends(b"GET / HTTP/1.1\r\n" + b"X: 1\r\n" * 1000 + b"\r\n")
    assert client.is_closed
    assert client.answer.startswith(b"HTTP/1.1 431 ")


def test_a_large_but_sensible_head_is_taken():
    cookies = b"Cookie: " + b"a" * 60_000 + b"\r\n"
    client = Peer(Http1Server).sends(b"GET / HTTP/1.1\r\n" + cookies + b"X: 1\r\n" * 100 + b"\r\n")
    assert not client.is_closed
    assert client.received(RequestHeaders)


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/1.1 200 OK\r\nX: " + b"a" * PIECE,
        b"HTTP/1.1 200 OK\r\n" + b"X: 1\r\n" * 10_000,
        b"HTTP/1.1 103 Early Hints\r\nX: " + b"a" * PIECE,
    ],
    ids=["a long line", "many fields", "an interim one"],
)
def test_an_origin_whose_head_never_ends_has_failed(data):
    origin = Peer(OriginClient).sends(data, pieces=100)
    assert origin.is_closed
    (error,) = origin.received(ResponseProtocolError)
    assert error.message.startswith("malformed answer: header section of more than")
    assert len(origin.layer.buf) < bufferlimits.HEAD_BYTES + 2 * PIECE


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize("begun", [b"", b"2\r\nhi\r\n", b"0\r\nTrailer: "])
def test_a_chunk_header_or_trailer_that_never_ends_is_a_failure(begun):
    origin = Peer(OriginClient).sends(CHUNKED + begun).sends(b"0" * PIECE, pieces=100)
    assert origin.is_closed
    assert "protocol error" in origin.received(ResponseProtocolError)[0].message
    assert len(origin.layer.buf) < bufferlimits.HEAD_BYTES + 2 * PIECE


def test_a_chunk_header_of_a_request_is_bounded_too():
    head = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
    client = Peer(Http1Server).sends(head).sends(b"0" * PIECE, pieces=100)
    assert client.is_closed
    assert client.received(RequestProtocolError)


def test_a_chunk_as_long_as_it_likes_is_no_chunk_header():
    origin = Peer(OriginClient).sends(CHUNKED + b"fffff0\r\n").sends(b"a" * PIECE, pieces=20)
    assert not origin.is_closed
    assert sum(len(event.data) for event in origin.received(ResponseData)) == 20 * PIECE


def test_a_client_cannot_pile_up_requests_while_its_first_is_answered():
    client = Peer(Http1Server).sends(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    client.sends(b"a" * PIECE, pieces=100)
    assert client.is_closed
    assert client.received(RequestProtocolError)
    assert len(client.layer.buf) < bufferlimits.AHEAD_BYTES + 2 * PIECE


@pytest.mark.parametrize("value", [b"a\rb", b"a\0b", b"a\r\rb"])
def test_control_characters_in_a_request_are_refused(value):
    client = Peer(Http1Server).sends(b"GET / HTTP/1.1\r\nHost: a\r\nX: " + value + b"\r\n\r\n")
    assert client.answer.startswith(b"HTTP/1.1 400 ")
    assert client.is_closed
    assert not client.received(RequestHeaders)


@pytest.mark.parametrize("value", [b"a\rb", b"a\0b"])
def test_control_characters_in_an_answer_make_it_malformed(value):
    origin = Peer(OriginClient).sends(b"HTTP/1.1 200 OK\r\nX: " + value + b"\r\n\r\n")
    assert origin.is_closed
    assert "control character" in origin.received(ResponseProtocolError)[0].message
    assert not origin.received(ResponseHeaders)


def test_a_folded_line_is_passed_on_as_one():
    origin = Peer(OriginClient).sends(b"HTTP/1.1 200 OK\r\nX: a\r\n\tb\r\n c\r\nContent-Length: 0\r\n\r\n")
    (head,) = origin.received(ResponseHeaders)
    assert head.response.headers.fields[0] == (b"X", b"a b c")


def test_bytes_after_a_request_are_the_next_one_or_its_body_as_ever():
    client = Peer(Http1Server).sends(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi")
    assert [event.data for event in client.received(RequestData)] == [b"hi"]
