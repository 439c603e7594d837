"""proxy.rules.networks: who is in them, however the address is written."""

import pytest

from proxy.rules.networks import networks_of

ROOMS = networks_of(["10.0.3.0/24", "192.0.2.7", "fd00:1::/64"])


@pytest.mark.parametrize(
    ("client", "network"),
    [
        ("10.0.3.200", "10.0.3.0/24"),
        ("192.0.2.7", "192.0.2.7/32"),
        ("::ffff:10.0.3.1", "10.0.3.0/24"),
        ("fd00:1::5%eth0", "fd00:1::/64"),
        ("10.0.4.1", ""),
        ("fe80::1", ""),
        ("nobody", ""),
        ("", ""),
    ],
)
def test_a_client_is_found_in_its_network(client, network):
    assert ROOMS.entry_for(client) == network


@pytest.mark.parametrize("wrong", ["10.0.0.0/33", "10.0.3.5/24", "room 3", "10.0.0"])
def test_an_invalid_network_is_refused_with_the_reason(wrong):
    with pytest.raises(ValueError, match="10.0.3.0/24: "):
        networks_of([wrong])
