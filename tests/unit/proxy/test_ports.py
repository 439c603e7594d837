"""proxy.ports: ports and ranges of the settings."""

import pytest

from proxy.errors import SettingsError
from proxy.ports import parse_ports


def test_ports_and_ranges_are_read():
    assert parse_ports("proxy.ports", ("80", "1025-1027")) == (range(80, 81), range(1025, 1028))


@pytest.mark.parametrize(
    "line", ["", "http", "80-", "-80", "0", "65536", "90-80", "80,443", "\u0668\u0660", " 80"]
)
def test_an_invalid_port_is_named_in_the_error(line):
    with pytest.raises(SettingsError, match="proxy.ports: expected ports"):
        parse_ports("proxy.ports", (line,))
