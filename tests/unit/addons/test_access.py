"""addons.access: who is served."""

import asyncio

import pytest
from mitmproxy.proxy.server_hooks import ServerConnectionHookData

from addons.access import AccessControl
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
    return not connects(AccessControl(ProxySettings()), a_client(address))


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
    clients = AccessControl(ProxySettings(clients=("10.0.0.0/8",)))
    clients.apply(ProxySettings(clients=("192.0.2.0/24",)))
    assert connects(clients, a_client("192.0.2.7"))


def test_one_address_has_so_many_connections_and_no_more():
    clients = AccessControl(ProxySettings(connections_per_client=2), limit=10_000)
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
    clients = AccessControl(ProxySettings(), limit=200 + 3 * 10)
    assert [connects(clients, a_client()) for _ in range(7)] == [True] * 5 + [False] * 2
    assert [connects(clients, a_client("10.0.1.2")) for _ in range(7)] == [True] * 4 + [False] * 3
    assert connects(clients, a_client("10.0.2.3"))
    assert not connects(clients, a_client("10.0.3.4"))


@pytest.mark.parametrize("addresses", ["10.0.0.{}", "fd00::{}"])
def test_a_network_has_its_share_however_many_addresses_it_has(addresses):
    clients = AccessControl(ProxySettings(), limit=200 + 3 * 20)
    served = [connects(clients, a_client(addresses.format(number))) for number in range(1, 21)]
    assert served == [True] * 15 + [False] * 5
    assert [connects(clients, a_client("10.9.0.1")) for _ in range(3)] == [True] * 3


def test_nobody_takes_all_connections_to_origins():
    clients = AccessControl(ProxySettings(), limit=200 + 3 * 10)
    hungry, other = a_client(), a_client("10.0.1.2")

    def reaches(client):
        data = ServerConnectionHookData(a_flow().server_conn, client)
        data.server.error = None
        clients.server_connect(data)
        return data.server.error is None

    assert [reaches(hungry) for _ in range(20)] == [True] * 10 + [False] * 10
    assert reaches(other)
    clients.client_disconnected(hungry)
    assert reaches(hungry)


def test_a_flood_of_refused_clients_is_one_line_in_the_log(caplog):
    clients = AccessControl(ProxySettings())
    for _ in range(100):
        assert not connects(clients, a_client("8.8.8.8"))
    assert [record.name for record in caplog.records].count("addons.access") == 1


def test_connections_to_origins_are_bounded_and_counted_out_again():
    clients, flow = AccessControl(ProxySettings(), limit=200 + 6), a_flow()  # two to origins for each
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
    assert clients._origin_room.taken == 0
