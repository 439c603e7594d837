"""addons.internals.originconnections: what is written for an origin; which connections last, real programs show."""

import pytest
from mitmproxy import http, options
from mitmproxy.connection import Client, Server
from mitmproxy.net.http.http1 import read
from mitmproxy.proxy import commands
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers import http as layers
from mitmproxy.proxy.layers.http._http1 import Http1Client

from addons.internals import install
from addons.internals.originconnections import is_retired, is_sound


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
    return Http1Client(context)


def sent_by(client, request):
    steps = client.send(layers.RequestHeaders(1, request, end_stream=not request.raw_content))
    return b"".join(command.data for command in steps if isinstance(command, commands.SendData))


def test_methods_are_case_sensitive():
    assert a_request(b"hEaD").method == "hEaD"
    response = http.Response.make(200, b"abc")
    assert read.expected_http_body_size(a_request(b"hEaD"), response) == 3
    assert read.expected_http_body_size(a_request(b"HEAD"), response) == 0


@pytest.mark.parametrize(
    "line",
    [b"cOnNeCt /a HTTP/1.1", b"G(T / HTTP/1.1", b"", b"GET / HTTP/2.0", b"GET / HTTP/1.9", b"PRI * HTTP/2.0"],
)
def test_a_line_that_is_read_in_several_ways_is_refused(line):
    with pytest.raises(ValueError, match="Bad HTTP request line"):
        read._read_request_line(line)


def test_a_plain_request_goes_out_as_it_is():
    client, request = a_client(), a_request(fields=((b"Connection", b"keep-alive"),))
    assert (
        sent_by(client, request) == b"GET / HTTP/1.1\r\nHost: school.test\r\nConnection: keep-alive\r\n\r\n"
    )
    assert client.request is request
    assert not is_retired(client.conn)


def test_an_odd_request_is_the_last_on_its_connection_and_the_flow_is_not_touched():
    client, request = a_client(), a_request(fields=((b"Content-Length", b"3"),), content=b"abc")
    assert b"\r\nConnection: close\r\n" in sent_by(client, request)
    assert is_retired(client.conn)
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


def test_what_would_become_two_lines_is_not_sound():
    assert is_sound(a_request(version=b"HTTP/2.0"))
    assert not is_sound(a_request(fields=((b"a", b"b\r\nc: d"),), version=b"HTTP/2.0"))
    assert not is_sound(a_request(b"G T", version=b"HTTP/2.0"))
