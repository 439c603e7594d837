"""proxy.reach.policy: which addresses and ports may be reached, however they are written."""

from dataclasses import replace
from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.reach.policy import ReachPolicy, is_own, literal, reach_of
from proxy.settings import AdminSettings, ProxySettings, Settings

REFUSED = (
    "127.0.0.1",
    "127.255.255.254",
    "0.0.0.0",
    "0.1.2.3",
    "169.254.169.254",
    "169.254.0.1",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
    "224.0.0.251",
    "239.255.255.250",
    "255.255.255.255",
    "240.0.0.1",
    "::",
    "::1",
    "fe80::1",
    "fe80::1%eth0",
    "ff02::1",
    "fd00:ec2::254",
    "fd20:ce::254",
    "fec0::1",
)
REACHED = (
    "93.184.216.34",
    "10.0.0.5",
    "172.16.4.4",
    "192.168.1.1",
    "100.64.0.1",
    "2606:2800:220:1:248:1893:25c8:1946",
    "fd12:3456::1",
)


@pytest.mark.parametrize("address", REFUSED)
def test_this_machine_and_the_addresses_of_machines_are_refused(address):
    assert not ReachPolicy().may_reach(address)


@pytest.mark.parametrize("address", REACHED)
def test_the_internet_and_private_networks_are_reached(address):
    assert ReachPolicy().may_reach(address)


@pytest.mark.parametrize("address", [each for each in REFUSED if "." in each])
def test_ipv6_forms_of_a_refused_address_are_refused(address):
    number = int(IPv4Address(address))
    for carrying in (
        IPv6Address(number),
        IPv6Address((0xFFFF << 32) | number),
        IPv6Address((0xFFFF << 48) | number),
        IPv6Address((0x0064FF9B << 96) | number),
        IPv6Address((0x0064FF9B0001 << 80) | number),
        IPv6Address((0x2002 << 112) | (number << 80) | 1),
        IPv6Address((0x20010DB8 << 96) | (0x00005EFE << 32) | number),
    ):
        assert not ReachPolicy().may_reach(str(carrying)), carrying


def test_ipv6_forms_of_a_public_address_are_reached():
    for carrying in ("::ffff:93.184.216.34", "64:ff9b::93.184.216.34", "2002:5db8:d822::1"):
        assert ReachPolicy().may_reach(carrying)


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "0177.0.0.1",
        "017700000001",
        "0",
        "\uff11\uff12\uff17.0.0.1",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "127.0.0.1.",
        "169.254.169.254",
        "0xa9fea9fe",
        "2852039166",
        "localhost",
        "LOCALHOST.",
        "a.localhost",
    ],
)
def test_a_refused_host_is_refused_however_it_is_written(host):
    assert not ReachPolicy().may_name(host)


@pytest.mark.parametrize(
    "host", ["school.test", "dead.beef", "localhost.test", "10.0.0.1", "3232235777", "7f.org"]
)
def test_other_hosts_may_be_named(host):
    assert ReachPolicy().may_name(host)


def test_networks_may_be_added():
    reach = ReachPolicy(allowed=("127.0.0.0/8", "::1/128"))
    assert reach.may_reach("127.0.0.1")
    assert reach.may_reach("::1")
    assert reach.may_name("localhost")
    assert not reach.may_reach("169.254.169.254")
    assert not reach.may_reach("::ffff:169.254.169.254")


def test_a_port_of_ours_at_an_address_of_ours_is_refused_whatever_is_allowed():
    reach = ReachPolicy(allowed=("127.0.0.0/8",), own_ports=(8081,))
    assert not reach.may_reach("127.0.0.1", 8081)
    assert reach.may_reach("127.0.0.1", 8082)
    assert reach.may_reach("192.0.2.7", 8081)  # somebody else's port of that number
    assert reach.is_own_service("127.0.0.1", 8081)
    assert not reach.is_own_service("127.0.0.1", 8082)


OWN = [
    "127.0.0.1",
    "127.0.0.2",
    "127.255.255.254",
    "0.0.0.0",
    "0.1.2.3",
    "::1",
    "::",
    "::ffff:127.0.0.9",
    "::127.0.0.1",
]


@pytest.mark.parametrize("address", OWN)
def test_a_port_of_ours_is_refused_at_all_addresses_that_lead_to_this_machine(address):
    reach = ReachPolicy(allowed=("0.0.0.0/0", "::/0"), own_ports=(8081,), parent_ports=(3128,))
    assert is_own(address)
    assert not reach.may_reach(address, 8081)
    assert not reach.may_reach(address, 3128)
    assert reach.may_reach(address, 8082)


def test_only_this_machines_addresses_are_its_own():
    assert is_own("127.0.0.1")
    assert not any(map(is_own, ("192.0.2.7", "203.0.113.9", "2001:db8::7", "::ffff:192.0.2.7", "no address")))


@pytest.mark.parametrize("host", ["127.0.0.2", "0x7f.1", "LOCALHOST.", "a.localhost", "[::1]"])
def test_this_machine_is_known_by_its_spelling_where_another_would_connect(host):
    reach = ReachPolicy(allowed=("127.0.0.0/8", "::1/128"), own_ports=(8081,))
    assert reach.is_reserved(host, 8081)
    assert not reach.is_reserved(host, 8082)
    assert not reach.is_reserved("school.test", 8081)


def test_a_parent_on_this_machine_keeps_its_port_and_one_elsewhere_does_not():
    here = reach_of(Settings(proxy=ProxySettings(parent="http://localhost:3128", reach=("127.0.0.0/8",))))
    assert not here.may_reach("127.0.0.2", 3128)
    elsewhere = reach_of(
        Settings(proxy=ProxySettings(parent="http://192.0.2.7:3128", reach=("127.0.0.0/8",)))
    )
    assert elsewhere.may_reach("127.0.0.2", 3128)


def test_where_a_mode_itself_says_that_it_listens_is_a_port_of_ours():
    reach = reach_of(Settings(proxy=ProxySettings(mode="regular@127.0.0.1:8123", reach=("127.0.0.0/8",))))
    assert not reach.may_reach("127.0.0.1", 8123)


def test_every_section_that_listens_keeps_its_port():
    settings = Settings(
        proxy=ProxySettings(listen="0.0.0.0:8080", reach=("127.0.0.0/8",)),
        desk=replace(AdminSettings(), listen="127.0.0.1:8081"),
    )
    reach = reach_of(settings)
    assert not reach.may_reach("127.0.0.1", 8080)
    assert not reach.may_reach("127.0.0.1", 8081)
    assert reach.may_reach("127.0.0.1", 80)


def test_ports_of_other_protocols_are_refused_by_default():
    reach = reach_of(Settings())
    assert all(map(reach.may_request_port, (80, 443, 591, 8080, 8443, 65535)))
    assert not any(
        map(reach.may_request_port, (0, 7, 21, 22, 23, 25, 53, 110, 143, 389, 445, 465, 587, 993, 1024))
    )
    assert all(map(reach.may_tunnel, (80, 443, 8443)))
    assert not any(map(reach.may_tunnel, (22, 25, 3128, 3306, 5900, 6379, 6667, 11211, 1194)))


@given(st.text(max_size=40))
def test_any_text_is_a_literal_or_is_not(host):
    found = literal(host)
    assert found is None or isinstance(found, IPv4Address | IPv6Address)
    assert isinstance(ReachPolicy().may_name(host), bool)
    assert isinstance(ReachPolicy().may_reach(host), bool)


@given(st.ip_addresses(v=6))
def test_no_ipv6_address_is_reached_whose_every_part_is_refused(address):
    if address.ipv4_mapped and not ReachPolicy().may_reach(str(address.ipv4_mapped)):
        assert not ReachPolicy().may_reach(str(address))
