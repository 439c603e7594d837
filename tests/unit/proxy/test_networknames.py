"""Names for networks."""

import pytest

from proxy.errors import SettingsError
from proxy.networknames import NetworkNames, parse_network_names

NAMES = parse_network_names(
    "misses.networks", ["Room 12 = 10.0.12.0/24 fd00:12::/64", "The rest = 10.0.0.0/8"]
)


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("10.0.12.7", "Room 12"),
        ("::ffff:10.0.12.7", "Room 12"),
        ("fd00:12::7%eth0", "Room 12"),
        ("10.9.9.9", "The rest"),
        ("192.168.1.1", ""),
        ("nonsense", ""),
    ],
)
def test_the_first_network_with_an_address_names_it(address, name):
    assert NAMES.name_of(address) == name
    assert NetworkNames().name_of(address) == ""


@pytest.mark.parametrize(
    "line", ["Room 12", "= 10.0.0.0/8", "Room =", "Room = 10.0.12.1/24", "x" * 61 + " = ::1", "a\nb = ::1"]
)
def test_a_line_with_a_mistake_is_refused(line):
    with pytest.raises(SettingsError, match="misses.networks"):
        parse_network_names("misses.networks", [line])
