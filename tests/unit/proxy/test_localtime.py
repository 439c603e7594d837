"""Times for people."""

from datetime import datetime, timedelta, timezone

import pytest

from proxy.localtime import zone_name


@pytest.mark.parametrize(
    ("hours", "name", "told"),
    [
        (1, "CET", "CET, UTC+01:00"),
        (-3, "-03", "UTC-03:00"),
        (5.5, "IST", "IST, UTC+05:30"),
        (0, "UTC", "UTC"),
    ],
)
def test_time_zone_is_named(hours, name, told):
    assert zone_name(datetime(2026, 5, 3, tzinfo=timezone(timedelta(hours=hours), name))) == told
