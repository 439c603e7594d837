"""proxy.http.guard: hosts before a request, and the very addresses that are connected to."""

import socket

import aiohttp
import pytest

from proxy.http.errors import ForbiddenTarget
from proxy.http.guard import ConnectGuard
from proxy.reach.policy import OUT_OF_REACH, ReachPolicy

LOOPBACK = ("127.0.0.0/8", "::1/128")
ARCHIVE = ("archive.school.test", 8080)


def guard(*allowed, own_ports=(), parent_ports=(), **known):
    reach = ReachPolicy(
        allowed=allowed,
        ports=("80", "1025-65535"),
        connect_ports=(),
        own_ports=own_ports,
        parent_ports=parent_ports,
    )
    return ConnectGuard(lambda: reach, **known)


def connects(by, address, port=80, *, place=("x.test", 80), through_parent=False):
    """Whether a socket is made for an address, while a place is asked for."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with by.connecting(place, through_parent=through_parent):
        try:
            by.make_socket((family, socket.SOCK_STREAM, 6, "", (address, port))).close()
        except OSError:
            return False
    return True


@pytest.mark.parametrize("address", ["127.0.0.1", "169.254.169.254", "::1", "::ffff:127.0.0.1", "fec0::1"])
def test_no_socket_is_made_to_this_machine_or_to_metadata(address):
    assert not connects(guard(), address)
    assert not connects(guard(public_only=True), address)


def test_a_private_network_is_reached_unless_only_public_addresses_are():
    assert connects(guard(), "10.0.0.1")
    assert not connects(guard(public_only=True), "10.0.0.1")
    assert connects(guard(public_only=True), "8.8.8.8")


def test_what_the_settings_allow_is_not_public_either():
    assert connects(guard(*LOOPBACK), "127.0.0.1")
    assert not connects(guard(*LOOPBACK, public_only=True), "127.0.0.1")


def test_a_place_that_the_admin_chose_may_be_anywhere_at_that_port_only():
    archives = guard(chosen=[ARCHIVE], public_only=True)
    archives.check(ARCHIVE)
    assert connects(archives, "10.0.0.1", 8080, place=ARCHIVE)
    assert not connects(archives, "10.0.0.1", 2022, place=("archive.school.test", 2022))
    assert not connects(archives, "10.0.0.1", 8080)


def test_not_even_what_the_admin_chose_leads_to_linkmend_itself():
    careless = guard(*LOOPBACK, own_ports=[8081], chosen=[("desk.test", 8081)])
    assert not connects(careless, "127.0.0.1", 8081, place=("desk.test", 8081))
    assert not connects(careless, "127.0.0.1", 8081, through_parent=True)
    assert connects(careless, "127.0.0.1", 8082, through_parent=True)


@pytest.mark.parametrize(
    "place",
    [
        ("127.0.0.1", 80),
        ("2130706433", 80),
        ("localhost", 80),
        ("::1", 80),
        ("school.test", 22),
    ],
)
def test_a_host_or_port_out_of_reach_is_not_asked_for(place):
    with pytest.raises(ForbiddenTarget):
        guard().check(place)


def test_only_public_hosts_are_asked_for_where_only_those_are_reached():
    for host in ("10.0.0.1", "nas.local", "intranet"):
        guard().check((host, 80))
        with pytest.raises(ForbiddenTarget, match="private network"):
            guard(public_only=True).check((host, 80))


def test_a_parent_is_not_asked_for_what_listens_beside_it():
    """What it connects to is not seen from here, so the name has to do."""
    beside = guard(*LOOPBACK, own_ports=[8081], parent_ports=[3128])
    beside.check(("127.0.0.1", 8082))
    for port in (8081, 3128):
        with pytest.raises(ForbiddenTarget):
            beside.check(("127.0.0.1", port))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_aiohttp_asks_with_the_address_that_it_connects_to(host):
    connector = aiohttp.TCPConnector(socket_factory=guard().make_socket)
    async with aiohttp.ClientSession(connector=connector) as session:
        with pytest.raises(aiohttp.ClientConnectorError, match=OUT_OF_REACH):
            await session.get(f"http://{host}:9/")
