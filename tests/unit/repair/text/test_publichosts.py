from ipaddress import ip_address

import pytest

from repair.text.publichosts import embedded_ipv4, is_public_address, is_public_host

PRIVATE = [
    "127.0.0.1",
    "127.8.8.8",
    "0.0.0.0",
    "10.1.2.3",
    "172.16.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "224.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "fe80::1",
    "fe80::1%eth0",
    "fc00::1",
    "ff02::1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b::a00:1",
    "2002:7f00:1::",
    "2002:a00:1::",
]


@pytest.mark.parametrize("address", PRIVATE)
def test_addresses_of_this_machine_and_its_networks_are_not_public(address):
    assert not is_public_address(address)


@pytest.mark.parametrize("address", ["8.8.8.8", "207.241.224.2", "2600:1901::1", "64:ff9b::808:808"])
def test_addresses_of_the_internet_are_public(address):
    assert is_public_address(address)


@pytest.mark.parametrize(
    "host", ["localhost", "intranet", "nas.local", "x.lan", "127.0.0.1", "[::1]", "a.internal.", ""]
)
def test_local_names_and_addresses_are_not_public_hosts(host):
    assert not is_public_host(host)


@pytest.mark.parametrize("host", ["web.archive.org", "arquivo.pt", "8.8.8.8", "[2600:1901::1]"])
def test_other_hosts_may_be_public(host):
    assert is_public_host(host)


@pytest.mark.parametrize(
    "address",
    ["::ffff:10.1.2.3", "64:ff9b::10.1.2.3", "2002:a01:203::", "::ffff:0:10.1.2.3", "fe80::5efe:10.1.2.3"],
)
def test_an_address_within_another_is_found(address):
    assert ip_address("10.1.2.3") in embedded_ipv4(ip_address(address))


def test_other_addresses_carry_nothing():
    assert embedded_ipv4(ip_address("10.1.2.3")) == ()
    assert embedded_ipv4(ip_address("2001:db8::1")) == ()
