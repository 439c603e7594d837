"""Times for people: in the time zone of the machine, which is the school's, and with its name."""

from datetime import datetime


def zone_name(now: datetime | None = None) -> str:
    """The time zone of this machine: its name where it has one, and the distance to UTC.

    >>> from datetime import UTC
    >>> zone_name(datetime(2026, 5, 3, tzinfo=UTC))
    'UTC'
    """
    local = now or datetime.now().astimezone()
    name, offset = local.tzname() or "", f"{local:%z}"
    if not local.utcoffset():
        return name or "UTC"
    distance = f"UTC{offset[:3]}:{offset[3:5]}"
    return f"{name}, {distance}" if name.isalpha() else distance
