"""addons.clients: who is served."""

import asyncio
import time
from types import SimpleNamespace

import pytest
from mitmproxy import ctx
from mitmproxy.proxy.server_hooks import ServerConnectionHookData

from addons.clients import Clients
from proxy.settings import ProxySettings
from tests.make import a_flow


def a_client(address="10.0.0.1"):
    client = a_flow().client_conn
    client.peername, client.error = (address, 12345), None
    return client


def connects(clients, client):
    """Whether a client is served that connects now."""

    async def connect():
        clients.client_connected(client)

    asyncio.run(connect())
    return client.error is None


def refused(address):
    return not connects(Clients(ProxySettings()), a_client(address))


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.1.2.3",
        "192.168.0.9",
        "172.16.5.5",
        "::1",
        "fe80::1%eth0",
        "fd00::7",
        "::ffff:10.0.0.1",
    ],
)
def test_a_client_of_a_local_network_is_served(address):
    assert not refused(address)


@pytest.mark.parametrize("address", ["8.8.8.8", "172.32.0.1", "2001:db8::1", "::ffff:8.8.8.8"])
def test_a_client_from_the_internet_is_refused(address):
    assert refused(address)


def test_the_networks_can_be_changed_while_running():
    clients = Clients(ProxySettings(clients=("10.0.0.0/8",)))
    clients.apply(ProxySettings(clients=("192.0.2.0/24",)))
    assert connects(clients, a_client("192.0.2.7"))


def test_one_address_has_so_many_connections_and_no_more():
    clients = Clients(ProxySettings(connections_per_client=2), limit=10_000)
    first = a_client()
    assert connects(clients, first)
    assert connects(clients, a_client())
    refused = a_client()
    assert not connects(clients, refused)
    assert connects(clients, a_client("10.0.0.2"))
    clients.client_disconnected(refused)
    assert not connects(clients, a_client())
    clients.client_disconnected(first)
    assert connects(clients, a_client())


def test_there_is_room_left_for_others_however_few_files_may_be_open():
    clients = Clients(ProxySettings(), limit=200 + 3 * 10)
    assert [connects(clients, a_client()) for _ in range(7)] == [True] * 5 + [False] * 2
    assert [connects(clients, a_client("10.0.0.2")) for _ in range(7)] == [True] * 5 + [False] * 2
    assert not connects(clients, a_client("10.0.0.3"))


def test_a_flood_of_refused_clients_is_one_line_in_the_log(caplog):
    clients = Clients(ProxySettings())
    for _ in range(100):
        assert not connects(clients, a_client("8.8.8.8"))
    assert [record.name for record in caplog.records].count("addons.clients") == 1


def test_connections_to_origins_are_bounded_and_counted_out_again():
    clients, flow = Clients(ProxySettings(), limit=200 + 3), a_flow()  # two to origins
    hooks = [ServerConnectionHookData(a_flow().server_conn, flow.client_conn) for _ in range(4)]
    for data in hooks:
        data.server.error = None
        clients.server_connect(data)
    assert [data.server.error is None for data in hooks] == [True, True, False, False]
    clients.server_connect_error(hooks[3])
    clients.server_disconnected(hooks[0])
    clients.server_connect(hooks[0])
    assert hooks[0].server.error is None
    clients.client_disconnected(flow.client_conn)
    clients.server_disconnected(hooks[0])
    assert clients._origin_count == 0


class Connected:
    """A client with a connection handler, as mitmproxy keeps it."""

    def __init__(self, monkeypatch):
        self.client, self.ended = a_client(), []
        io = SimpleNamespace(handler=SimpleNamespace(cancel=self.ended.append))
        handler = SimpleNamespace(transports={self.client: io})
        server = SimpleNamespace(connections={self.client.id: handler})
        addons = SimpleNamespace(get={"proxyserver": server}.get)
        monkeypatch.setattr(ctx, "master", SimpleNamespace(addons=addons), raising=False)
        monkeypatch.setattr("addons.clients._HEARD_OUT_S", 0.0)

    def after_a_while(self, *hooks):
        async def connect():
            clients = Clients(ProxySettings(request_timeout_s=0.0))
            clients.client_connected(self.client)
            flow = a_flow()
            flow.client_conn = self.client
            for hook in hooks:
                getattr(clients, hook)(flow)
            for _ in range(5):
                await asyncio.sleep(0)

        asyncio.run(connect())
        return self.ended


def test_a_client_that_asks_for_a_tunnel_and_says_nothing_is_let_go(monkeypatch):
    assert Connected(monkeypatch).after_a_while("http_connect") == ["no request in time"]


async def test_what_a_client_said_while_the_process_was_held_up_is_heard_before_it_is_let_go(monkeypatch):
    connected, clients = Connected(monkeypatch), Clients(ProxySettings(request_timeout_s=0.05))
    monkeypatch.setattr("addons.clients._HEARD_OUT_S", 0.05)
    clients.client_connected(connected.client)
    time.sleep(0.2)  # noqa: ASYNC251  all of the process is held up
    for _ in range(3):
        await asyncio.sleep(0)  # its time is over; what it said is read now
    flow = a_flow()
    flow.client_conn = connected.client
    clients.requestheaders(flow)
    await asyncio.sleep(0.2)
    assert connected.ended == []


def test_a_client_that_says_nothing_is_let_go(monkeypatch):
    assert Connected(monkeypatch).after_a_while() == ["no request in time"]


@pytest.mark.parametrize("hook", ["requestheaders", "tcp_start"])
def test_a_client_that_has_asked_may_stay(monkeypatch, hook):
    assert Connected(monkeypatch).after_a_while(hook) == []
