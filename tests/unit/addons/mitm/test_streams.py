"""addons.mitm.streams: what is done is let go of at once. What streams answer, the real programs are asked."""

import gc
import weakref

import pytest
from mitmproxy import http, options
from mitmproxy.connection import Client
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers import http as layers

from addons.mitm.streams import AnsweringStream, _is_unfit
from tests.make import a_flow


def a_stream(status=200):
    context = Context(Client(peername=("10.0.0.9", 1), sockname=("10.0.0.1", 8080)), options.Options())
    stream = AnsweringStream(context, 1)
    stream.flow = a_flow(response=(status, (), b"page"))
    stream.client_state = stream.server_state = stream.state_done
    return stream


def test_a_stream_that_is_done_is_freed_without_a_search_for_it():
    stream = a_stream()
    known = weakref.ref(stream)
    gc.collect()  # what making it left behind
    gc.disable()
    try:
        told = [type(command) for command in stream.flow_done()]
        del stream
        assert known() is None
    finally:
        gc.enable()
    assert told == [layers.DropStream, layers.SendHttp]


def test_a_stream_whose_client_still_sends_stays_what_it_is():
    stream = a_stream()
    stream.client_state = stream.state_stream_request_body
    list(stream.flow_done())
    assert stream.client_state == stream.state_stream_request_body
    assert stream in stream.context.layers


@pytest.mark.parametrize(
    ("method", "fields"),
    [(b"GET", ((b"a", b"b\r\nc: d"),)), (b"GET", ((b"a\nb", b"c"),)), (b"G T", ()), (b"cOnNeCt", ())],
)
def test_what_http1_would_read_as_something_else_is_refused_of_http2(method, fields):
    data = a_stream().flow.request.data
    data.http_version = b"HTTP/2.0"
    assert not _is_unfit(http.Request(**vars(data)))
    data.method, data.headers = method, http.Headers((*data.headers.fields, *fields))
    assert _is_unfit(http.Request(**vars(data)))
