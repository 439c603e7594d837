from datetime import time

import pytest

from proxy.errors import SettingsError
from proxy.nighthours import NightHours
from proxy.settings import load


@pytest.mark.parametrize(
    ("hours", "at", "night"),
    [
        ("22:00-05:00", time(22, 0), True),
        ("22:00-05:00", time(4, 59), True),
        ("22:00-05:00", time(5, 0), False),
        ("22:00-05:00", time(12, 0), False),
        ("01:00-05:00", time(3, 0), True),
        ("01:00-05:00", time(23, 0), False),
        ("00:00-00:00", time(12, 0), True),
    ],
)
def test_night_may_span_midnight(hours, at, night):
    assert NightHours.parse(hours).holds(at) is night


@pytest.mark.parametrize("text", ["", "22-5", "24:00-05:00", "22:00-05:60", "22:00 - 05:00", "٢٢:00-05:00"])
def test_invalid_hours_are_reported_with_their_key(text, tmp_path):
    with pytest.raises(ValueError, match="expected hours"):
        NightHours.parse(text)
    file = tmp_path / "linkmend.toml"
    file.write_text(f'[fetch]\nnight = "{text}"\n', encoding="utf-8")
    with pytest.raises(SettingsError, match="fetch.night"):
        load(file, environment={})
