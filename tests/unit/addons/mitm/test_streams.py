"""addons.internals.streams: what is done is let go of at once. What streams answer, the real programs are asked."""

import gc
import weakref

from mitmproxy import options
from mitmproxy.connection import Client
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers import http as layers

from addons.internals.streams import AnsweringStream
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
