"""addons.clients: who is served."""

import pytest

from addons.clients import Clients
from proxy.settings import LOCAL_NETWORKS
from tests.make import a_flow


def refused(address: str, networks: tuple[str, ...] = LOCAL_NETWORKS) -> bool:
    client = a_flow().client_conn
    client.peername = (address, 12345)
    client.error = None
    Clients(networks).client_connected(client)
    return client.error is not None


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
    clients = Clients(("10.0.0.0/8",))
    clients.allow(("192.0.2.0/24",))
    client = a_flow().client_conn
    client.peername, client.error = ("192.0.2.7", 1), None
    clients.client_connected(client)
    assert client.error is None
