"""repair.guard: sockets of our own requests, and the addresses that others stand for."""

import asyncio
import socket
from ipaddress import ip_address

import aiohttp
import pytest

from repair.guard import carried, guarded_sockets

LOOPBACK = (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 9))


def test_a_socket_is_made_for_what_may_be_reached():
    with guarded_sockets(lambda address, port: (address, port) == ("127.0.0.1", 9))(LOOPBACK) as made:
        assert made.family == socket.AF_INET


def test_no_socket_is_made_for_what_may_not_be_reached():
    with pytest.raises(OSError, match="127.0.0.1 may not be reached"):
        guarded_sockets(lambda address, port: False)(LOOPBACK)


def test_aiohttp_asks_with_the_address_it_connects_to():
    asked = []

    def may_reach(address, port):
        asked.append((address, port))
        return False

    async def ask(url):
        connector = aiohttp.TCPConnector(socket_factory=guarded_sockets(may_reach))
        async with aiohttp.ClientSession(connector=connector) as session:
            with pytest.raises(aiohttp.ClientConnectorError):
                await session.get(url)

    for host in ("127.0.0.1", "localhost"):
        asyncio.run(ask(f"http://{host}:9/"))
    assert ("127.0.0.1", 9) in asked
    assert {ip_address(address).is_loopback for address, _ in asked} == {True}


@pytest.mark.parametrize(
    "address",
    ["::ffff:10.1.2.3", "64:ff9b::10.1.2.3", "2002:a01:203::", "::ffff:0:10.1.2.3", "fe80::5efe:10.1.2.3"],
)
def test_an_address_within_another_is_found(address):
    assert ip_address("10.1.2.3") in carried(ip_address(address))


def test_other_addresses_carry_nothing():
    assert carried(ip_address("10.1.2.3")) == ()
    assert carried(ip_address("2001:db8::1")) == ()
