"""addons.tunnels: what passes unread is not kept, and what a rule blocks does not pass."""

import pytest
from mitmproxy.test import tflow

from addons.tunnels import Tunnels
from proxy.rules.live import LiveRules
from tests.make import A_MOMENT


@pytest.fixture
def tunnels(tmp_path):
    def made(rules=""):
        (tmp_path / "10.toml").write_text(rules, encoding="utf-8")
        return Tunnels(LiveRules(tmp_path), clock=lambda: A_MOMENT)

    return made


def a_tunnel(host):
    flow = tflow.ttcpflow()
    flow.server_conn.address = (host, 443)
    flow.server_conn.error = None
    return flow


def test_nothing_of_a_raw_tunnel_or_a_web_socket_is_kept(tunnels):
    tunnel, socket = tflow.ttcpflow(), tflow.twebsocketflow()
    assert tunnel.messages
    assert socket.websocket.messages
    tunnels().tcp_message(tunnel)
    tunnels().websocket_message(socket)
    assert not tunnel.messages
    assert not socket.websocket.messages


@pytest.mark.parametrize(
    ("action", "host", "passes"),
    [
        ("block", "games.test", False),
        ("offline-only", "games.test", False),
        ("no-cache", "games.test", True),
        ("block", "school.test", True),
    ],
)
def test_a_rule_that_keeps_readers_from_a_host_keeps_raw_tunnels_from_it(tunnels, action, host, passes):
    flow = a_tunnel(host)
    tunnels(f'[[rule]]\ndomain = "games.test"\naction = "{action}"\n').tcp_start(flow)
    assert (flow.server_conn.error is None) is passes
