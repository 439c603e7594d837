import socket

import pytest

from addons.mitm.listening import accept_from, listen_address, open_listen_socket
from proxy.errors import StartError


@pytest.mark.parametrize(
    ("mode", "address"),
    [
        ("regular@127.0.0.1:8080", ("127.0.0.1", 8080)),
        ("upstream:http://a.test:3128@8081", ("", 8081)),
        ("reverse:http://a.test@127.0.0.1:0", ("127.0.0.1", 0)),
        ("transparent@0.0.0.0:8080", ("0.0.0.0", 8080)),
        ("wireguard@51820", None),
        ("reverse:dns://a.test@127.0.0.1:5353", None),
    ],
)
def test_where_a_mode_listens_and_whether_workers_can_share_it(mode, address):
    assert listen_address(mode) == address


def test_an_unknown_mode_is_named():
    with pytest.raises(StartError, match="sideways"):
        listen_address("sideways@127.0.0.1:8080")


def test_a_socket_can_be_reached_under_the_address_it_tells():
    listening = open_listen_socket("127.0.0.1", 0)
    try:
        host, _, port = listening.address().partition(":")
        with socket.create_connection((host, int(port)), timeout=5):
            pass
    finally:
        listening.close()


def test_every_address_of_a_host_gets_the_same_port():
    listening = open_listen_socket("localhost", 0)
    assert len({each.getsockname()[1] for each in listening.sockets}) == 1
    listening.close()


def test_a_port_that_is_taken_is_named():
    taken = open_listen_socket("127.0.0.1", 0)
    port = taken.sockets[0].getsockname()[1]
    with pytest.raises(
        StartError, match=rf"cannot listen on 127.0.0.1:{port}: \[Errno \d+\] Address already in use"
    ):
        open_listen_socket("127.0.0.1", port)
    taken.close()


def test_this_mitmproxy_listens_as_we_expect(monkeypatch):
    from mitmproxy.proxy import mode_servers

    monkeypatch.setattr(
        mode_servers.AsyncioServerInstance, "listen", mode_servers.AsyncioServerInstance.listen
    )
    listening = open_listen_socket("127.0.0.1", 0)
    accept_from(listening)
    listening.close()
    monkeypatch.setattr(mode_servers.AsyncioServerInstance, "listen", lambda self, elsewhere: None)
    with pytest.raises(StartError, match="--workers 1"):
        accept_from(listening)
