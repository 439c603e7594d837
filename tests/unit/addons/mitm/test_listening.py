import socket

import pytest

from addons.listening import Listening, opened, place_of
from proxy.errors import StartError


@pytest.mark.parametrize(
    ("mode", "place"),
    [
        ("regular@127.0.0.1:8080", ("127.0.0.1", 8080)),
        ("upstream:http://a.test:3128@8081", ("", 8081)),
        ("reverse:http://a.test@127.0.0.1:0", ("127.0.0.1", 0)),
        ("transparent@0.0.0.0:8080", ("0.0.0.0", 8080)),
        ("wireguard@51820", None),
        ("reverse:dns://a.test@127.0.0.1:5353", None),
    ],
)
def test_where_a_mode_listens_and_whether_workers_can_share_it(mode, place):
    assert place_of(mode) == place


def test_an_unknown_mode_is_named():
    with pytest.raises(StartError, match="sideways"):
        place_of("sideways@127.0.0.1:8080")


def test_a_door_is_open_under_the_address_it_tells():
    door = opened("127.0.0.1", 0)
    try:
        host, _, port = door.address().partition(":")
        with socket.create_connection((host, int(port)), timeout=5):
            pass
    finally:
        door.close()


def test_every_address_of_a_host_gets_the_same_port():
    door = opened("localhost", 0)
    assert len({each.getsockname()[1] for each in door.sockets}) == 1
    door.close()


def test_a_port_that_is_taken_is_named():
    taken = opened("127.0.0.1", 0)
    port = taken.sockets[0].getsockname()[1]
    with pytest.raises(
        StartError, match=rf"cannot listen on 127.0.0.1:{port}: \[Errno \d+\] Address already in use"
    ):
        opened("127.0.0.1", port)
    taken.close()


def test_this_mitmproxy_listens_as_we_expect(monkeypatch):
    from mitmproxy.proxy import mode_servers

    monkeypatch.setattr(
        mode_servers.AsyncioServerInstance, "listen", mode_servers.AsyncioServerInstance.listen
    )
    door = opened("127.0.0.1", 0)
    Listening(door).install()
    door.close()
    monkeypatch.setattr(mode_servers.AsyncioServerInstance, "listen", lambda self, elsewhere: None)
    with pytest.raises(StartError, match="--workers 1"):
        Listening(door).install()
