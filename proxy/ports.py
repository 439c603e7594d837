"""Parses ports and port ranges in settings (pure)."""

from collections.abc import Iterable

from proxy.errors import SettingsError

Ports = tuple[range, ...]


def parse_ports(key: str, lines: Iterable[str]) -> Ports:
    """The ranges of lines such as `443` and `1025-65535`. Raises SettingsError."""
    return tuple(_parse(key, line) for line in lines)


def _parse(key: str, line: str) -> range:
    first, dash, last = line.partition("-")
    last = last if dash else first
    if not all(part.isascii() and part.isdigit() for part in (first, last)):
        raise SettingsError(f"{key}: expected ports such as 443 or 1025-65535, got {line!r}")
    if not 1 <= int(first) <= int(last) <= 65535:
        raise SettingsError(f"{key}: expected ports from 1 to 65535, got {line!r}")
    return range(int(first), int(last) + 1)
