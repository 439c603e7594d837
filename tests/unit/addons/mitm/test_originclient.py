"""addons.mitm.originclient: what is written for an origin; which connections last, real programs show."""

import pytest
from mitmproxy import http, options
from mitmproxy.connection import Client, Server
from mitmproxy.proxy import commands
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers import http as layers

from addons.mitm import install
from addons.mitm.originclient import OriginClient
from addons.mitm.originconnections import retired


@pytest.fixture(autouse=True, scope="module")
def installed():
    install()


def a_request(method=b"GET", *, fields=(), content=b"", version=b"HTTP/1.1"):
    return http.Request(
        host="school.test",
        port=80,
        method=method,
        scheme=b"http",
        authority=b"",
        path=b"/",
        http_version=version,
        headers=http.Headers(((b"Host", b"school.test"), *fields)),
        content=content,
        trailers=None,
        timestamp_start=0.0,
        timestamp_end=None,
    )


def a_client():
    context = Context(Client(peername=("10.0.0.9", 1), sockname=("10.0.0.1", 8080)), options.Options())
    context.server = Server(address=("school.test", 80))
    return OriginClient(context)


def sent_by(client, request):
    steps = client.send(layers.RequestHeaders(1, request, end_stream=not request.raw_content))
    return b"".join(command.data for command in steps if isinstance(command, commands.SendData))


def test_a_plain_request_goes_out_as_it_is():
    client, request = a_client(), a_request(fields=((b"Connection", b"keep-alive"),))
    assert (
        sent_by(client, request) == b"GET / HTTP/1.1\r\nHost: school.test\r\nConnection: keep-alive\r\n\r\n"
    )
    assert client.request is request
    assert client.conn not in retired


def test_an_odd_request_is_the_last_on_its_connection_and_the_flow_is_not_touched():
    client, request = a_client(), a_request(fields=((b"Content-Length", b"3"),), content=b"abc")
    assert b"\r\nConnection: close\r\n" in sent_by(client, request)
    assert client.conn in retired
    assert "connection" not in request.headers


@pytest.mark.parametrize("told", [(), ((b"content-length", b"7"),)])
def test_a_body_of_http2_gets_its_real_length(told):
    client, request = a_client(), a_request(b"POST", fields=told, content=b"abc", version=b"HTTP/2.0")
    sent = sent_by(client, request).lower()
    assert sent.count(b"content-length") == 1
    assert b"content-length: 3\r\n" in sent


def test_a_stream_of_http2_goes_out_in_chunks():
    client, request = a_client(), a_request(b"POST", content=b"abc", version=b"HTTP/2.0")
    request.stream = True
    assert b"\r\nTransfer-Encoding: chunked\r\n" in sent_by(client, request)
    body = (layers.RequestData(1, b"GET / HTTP/1.1"), layers.RequestEndOfMessage(1))
    sent = [command.data for event in body for command in client.send(event)]
    assert sent == [b"e\r\nGET / HTTP/1.1\r\n", b"0\r\n\r\n"]
    assert "transfer-encoding" not in request.headers
