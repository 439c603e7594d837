import socket

import pytest

from repair.memento.reach import GuardedResolver, is_public_address, is_public_host

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


class Dns:
    """A resolver that answers as told."""

    def __init__(self, *addresses):
        self._addresses = addresses

    async def resolve(self, host, port=0, family=socket.AF_INET):
        return [
            {"hostname": host, "host": address, "port": port, "family": family, "proto": 0, "flags": 0}
            for address in self._addresses
        ]

    async def close(self):
        pass


async def test_a_name_that_leads_into_the_school_is_refused():
    with pytest.raises(OSError, match="no public address"):
        await GuardedResolver(inner=Dns("10.0.0.1", "::1")).resolve("web.archive.org", 443)


async def test_of_mixed_addresses_only_the_public_are_used():
    found = await GuardedResolver(inner=Dns("127.0.0.1", "8.8.8.8")).resolve("web.archive.org", 443)
    assert [result["host"] for result in found] == ["8.8.8.8"]


async def test_where_the_admin_put_an_archive_it_may_be_reached_on_that_port_only():
    resolver = GuardedResolver([("archive.school.test", 8080)], inner=Dns("10.0.0.1"))
    assert await resolver.resolve("Archive.school.test", 8080)
    with pytest.raises(OSError, match="no public address"):
        await resolver.resolve("archive.school.test", 22)
