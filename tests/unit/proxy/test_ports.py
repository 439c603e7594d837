"""proxy.trust.ports: ports and ranges of the settings."""

import pytest

from proxy.errors import SettingsError
from proxy.trust.ports import parse_ports


def test_ports_and_ranges_are_read():
    assert parse_ports("proxy.ports", ("80", "1025-1027")) == (range(80, 81), range(1025, 1028))


@pytest.mark.parametrize(
    "line", ["", "http", "80-", "-80", "0", "65536", "90-80", "80,443", "\u0668\u0660", " 80"]
)
def test_what_is_no_port_is_named(line):
    with pytest.raises(SettingsError, match="proxy.ports: expected ports"):
        parse_ports("proxy.ports", (line,))
