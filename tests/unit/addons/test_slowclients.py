"""addons.slowclients: how long a client may take."""

import asyncio
from types import SimpleNamespace

import pytest
from mitmproxy import ctx

from addons.slowclients import UPLOAD_BYTES_PER_S, SlowClients
from proxy.settings import ProxySettings
from tests.make import a_flow

GO_ROUND_IN = SlowClients._go_round_in
SETTINGS = ProxySettings(request_timeout_s=30.0, keep_alive_s=120.0)


class Connected:
    """A client with a connection handler, as mitmproxy keeps it, and a clock that goes when it is told to."""

    def __init__(self, monkeypatch):
        self.now, self.ended = 0.0, []
        self.flow = a_flow()
        self.client = self.flow.client_conn
        self.client.error, self.client.alpn = None, None
        io = SimpleNamespace(writer=None, handler=SimpleNamespace(cancel=self.ended.append))
        self.handler = SimpleNamespace(transports={self.client: io}, layer=SimpleNamespace(received=0))
        server = SimpleNamespace(connections={self.client.id: self.handler})
        addons = SimpleNamespace(get={"proxyserver": server}.get)
        monkeypatch.setattr(ctx, "master", SimpleNamespace(addons=addons), raising=False)
        monkeypatch.setattr(SlowClients, "_go_round_in", lambda self, delay_s: None)
        self.clients = SlowClients(SETTINGS, clock=lambda: self.now)
        self.clients.client_connected(self.client)

    def after(self, seconds, *, bytes_per_s=0):
        """What the client was told after a while of looking at it once a second."""
        for _ in range(seconds):
            self.now += 1
            self.handler.layer.received += bytes_per_s
            self.clients._go_round()
        return self.ended

    def asks(self):
        self.handler.layer.received += 100
        self.clients.requestheaders(self.flow)
        self.clients.request(self.flow)

    def is_answered(self):
        self.flow.response = a_flow(response=(200, (), b"")).response
        self.clients.response(self.flow)


@pytest.fixture
def connected(monkeypatch):
    return Connected(monkeypatch)


def test_a_client_that_never_comes_to_its_first_request_is_let_go(connected):
    assert connected.after(29, bytes_per_s=1) == []
    assert connected.after(3, bytes_per_s=1) == ["no request in time"]


def test_a_tunnel_has_the_same_time_for_its_first_request(connected):
    connected.after(20)
    connected.clients.http_connect(connected.flow)
    assert connected.after(29) == []
    assert connected.after(3) == ["no request in time"]


def test_headers_that_drip_on_a_connection_that_was_used_before_have_the_same_time(connected):
    connected.asks()
    connected.is_answered()
    assert connected.after(60) == []
    assert connected.after(30, bytes_per_s=1) == []
    assert connected.after(5, bytes_per_s=1) == ["no request in time"]


def test_the_same_after_a_hit_of_which_no_flow_was_made(connected):
    connected.clients.was_answered(connected.client)
    assert connected.after(60) == []
    assert connected.after(40, bytes_per_s=1) == ["no request in time"]


def test_a_connection_may_rest_for_a_while_between_two_requests(connected):
    connected.asks()
    connected.is_answered()
    assert connected.after(119) == []
    assert connected.after(3) == ["no request in time"]


def test_who_waits_for_an_answer_is_not_let_go(connected):
    connected.asks()
    assert connected.after(1000) == []
    connected.is_answered()
    assert connected.after(100) == []


@pytest.mark.parametrize("hook", ["tcp_start", "websocket_start"])
def test_what_is_passed_on_may_be_silent(connected, hook):
    getattr(connected.clients, hook)(connected.flow)
    assert connected.after(1000) == []


def test_an_upload_that_drips_is_let_go_and_one_that_flows_is_not(connected):
    connected.clients.requestheaders(connected.flow)
    assert connected.after(100, bytes_per_s=2 * UPLOAD_BYTES_PER_S) == []
    assert connected.after(500, bytes_per_s=1) == ["upload too slow"]


def test_what_is_left_of_an_upload_does_not_count_against_the_next_request(connected):
    connected.clients.requestheaders(connected.flow)
    connected.is_answered()
    later = a_flow()
    later.client_conn = connected.client
    connected.clients.requestheaders(later)
    connected.clients.request(later)
    assert connected.after(1000) == []


def test_frames_that_belong_to_no_request_are_no_request_that_drips(connected):
    connected.client.alpn = b"h2"
    connected.asks()
    connected.is_answered()
    assert connected.after(119, bytes_per_s=1) == []
    assert connected.after(3, bytes_per_s=1) == ["no request in time"]


async def test_what_a_client_said_while_the_process_was_held_up_is_heard_before_it_is_let_go(
    connected, monkeypatch
):
    monkeypatch.setattr(SlowClients, "_go_round_in", GO_ROUND_IN)
    connected.clients._go_round_in(0.01)
    connected.now += 100
    await asyncio.sleep(0.1)
    assert connected.ended == []
    connected.asks()
    assert connected.after(10) == []
