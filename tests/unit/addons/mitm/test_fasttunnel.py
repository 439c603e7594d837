"""addons.mitm.fasttunnel: what comes over TLS is answered at once, or takes its usual way with nothing lost."""

import asyncio
import contextlib

import pytest
from mitmproxy.connection import Client, ConnectionState, Server
from mitmproxy.proxy import commands, events
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layer import Paused
from mitmproxy.proxy.layers.http import HttpLayer, HTTPMode, HttpRequestHeadersHook
from mitmproxy.proxy.layers.tls import ClientTLSLayer
from mitmproxy.proxy.mode_specs import ProxyMode
from mitmproxy.proxy.tunnel import TunnelState
from OpenSSL import SSL

from addons.mitm.fastlayer import with_fast_path
from addons.mitm.fasttunnel import tunnel_of
from addons.mitm.master import LeanMaster
from proxy.settings import ProxySettings
from proxy.tls.authority import BASENAME, ensure_authority

STORED = b"GET /stored HTTP/1.1\r\nHost: school.test\r\n\r\n"
OTHER = b"GET /other HTTP/1.1\r\nHost: school.test\r\n\r\n"
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 40000\r\n\r\n" + b"x" * 40_000


@pytest.fixture(scope="module")
def server_context(tmp_path_factory):
    folder = tmp_path_factory.mktemp("authority")
    ensure_authority(folder)
    context = SSL.Context(SSL.TLS_SERVER_METHOD)
    for load in (context.use_certificate_file, context.use_privatekey_file):
        load(str(folder / f"{BASENAME}-ca.pem"))
    return context


@pytest.fixture(scope="module")
def options(tmp_path_factory):
    async def made():
        return LeanMaster(ProxySettings(), str(tmp_path_factory.mktemp("ca")), []).options

    return asyncio.run(made())


class Tunnel:
    """A browser's TLS connection, and our layers at the other end of it."""

    def __init__(self, options, server_context):
        self.client = Client(
            peername=("10.0.0.9", 51000),
            sockname=("10.0.0.1", 8080),
            timestamp_start=0,
            proxy_mode=ProxyMode.parse("regular"),
            state=ConnectionState.OPEN,
            sni="school.test",
        )
        context = Context(self.client, options)
        context.server = Server(address=("school.test", 443))
        context.server.tls = True
        context.layers.append(None)  # what ClientTLSLayer looks at: the layer above it
        self.secure = ClientTLSLayer(context)
        del context.layers[0]
        self.inside = self.secure.child_layer = HttpLayer(context, HTTPMode.transparent)
        self.context = context
        self.secure.tls = SSL.Connection(server_context)
        self.secure.tls.set_accept_state()
        self.browser = SSL.Connection(SSL.Context(SSL.TLS_CLIENT_METHOD))
        self.browser.set_connect_state()
        self._shake_hands()
        self.secure.tunnel_state = TunnelState.OPEN
        list(self.inside.handle_event(events.Start()))
        with_fast_path(self.inside, lambda client, place, data: ANSWER if data == STORED else None)
        self.tunnel = tunnel_of(context)

    def _shake_hands(self):
        for _ in range(3):
            for one, other in ((self.browser, self.secure.tls), (self.secure.tls, self.browser)):
                with contextlib.suppress(SSL.WantReadError):
                    one.do_handshake()
                pass_on(one, other)

    def sent_by_browser(self, *requests):
        for request in requests:
            self.browser.sendall(request)
        return events.DataReceived(self.client, self.browser.bio_read(100_000))

    def read_by_browser(self, sent):
        for command in sent:
            assert type(command) is commands.SendData
            assert command.connection is self.client
            self.browser.bio_write(command.data)
        return read_all(self.browser)


def pass_on(one, other):
    with contextlib.suppress(SSL.WantReadError):
        other.bio_write(one.bio_read(100_000))


def read_all(connection):
    read = b""
    try:
        while True:
            read += connection.recv(100_000)
    except SSL.WantReadError:
        return read


@pytest.fixture
def tunnel(options, server_context):
    return Tunnel(options, server_context)


def asked(layers, event):
    """The path of the request that the layers have made of it."""
    hooks = [each for each in layers.handle_event(event) if isinstance(each, HttpRequestHeadersHook)]
    return [hook.flow.request.path for hook in hooks]


def test_a_hit_is_answered_without_the_layers(tunnel):
    for _ in range(2):
        assert tunnel.read_by_browser(tunnel.tunnel.receive(tunnel.sent_by_browser(STORED))) == ANSWER


def test_everything_else_takes_its_usual_way_with_what_was_decrypted(tunnel):
    event = tunnel.sent_by_browser(OTHER)
    assert tunnel.tunnel.receive(event) is None
    assert asked(tunnel.secure, event) == ["/other"]


def test_several_records_at_once_and_half_a_record_lose_nothing(tunnel):
    event = tunnel.sent_by_browser(OTHER[:20], OTHER[20:])
    first, second = event.data[:30], event.data[30:]
    for data in (first, second):
        piece = events.DataReceived(tunnel.client, data)
        assert tunnel.tunnel.receive(piece) is None
        paths = asked(tunnel.secure, piece)
    assert paths == ["/other"]


def test_nothing_is_decrypted_while_a_layer_waits_or_a_request_is_under_way(tunnel):
    event = tunnel.sent_by_browser(STORED)
    tunnel.secure._paused = Paused(None, None)
    assert tunnel.tunnel.receive(event) is None
    assert tunnel.secure.decrypted is None
    tunnel.secure._paused = None
    assert tunnel.read_by_browser(tunnel.secure.handle_event(event)) == ANSWER
    assert asked(tunnel.secure, tunnel.sent_by_browser(OTHER[:10])) == []
    assert tunnel.tunnel.receive(tunnel.sent_by_browser(OTHER[10:])) is None
    assert tunnel.secure.decrypted is None


def test_an_end_that_comes_with_a_request_is_seen(tunnel):
    tunnel.browser.sendall(OTHER)
    tunnel.browser.shutdown()
    event = events.DataReceived(tunnel.client, tunnel.browser.bio_read(100_000))
    assert tunnel.tunnel.receive(event) is None
    assert asked(tunnel.secure, event) == ["/other"]
    assert not tunnel.client.state & ConnectionState.CAN_READ


def test_there_is_no_shortcut_through_two_layers_of_tls_or_without_any(options, server_context):
    made = Tunnel(options, server_context)
    made.context.layers.insert(0, ClientTLSLayer(made.context.fork()))
    assert tunnel_of(made.context) is None
    plain = Context(made.client, options)
    plain.server = made.context.server
    inside = HttpLayer(plain, HTTPMode.transparent)
    with_fast_path(inside, lambda *asked: None)
    assert tunnel_of(plain) is None
