"""Pseudonyms of clients: their addresses, hashed with a salt that changes every day."""

import fcntl
import hashlib
import ipaddress
import json
import os
import secrets
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, date, datetime
from pathlib import Path

_SALT_BYTES = 32
_CODES = 10_000
_NETWORK_DIGITS, _DIGITS = 6, 16


class ClientHasher:
    """Gives an address the same code all day (UTC) and another the next day; codes cannot be reversed.

    With a `path`, a private file keeps the day's salt over a restart and overwrites yesterday's. Without one, or if
    the file cannot be written, the salt is in memory only.
    """

    def __init__(self, path: Path | None = None, *, clock: Callable[[], datetime] | None = None) -> None:
        self._path = path
        self._clock = clock or (lambda: datetime.now(UTC))
        self._day: date | None = None
        self._salt = b""
        self._codes: dict[str, str] = {}
        self._lock = threading.Lock()

    def hash(self, client_address: str) -> str:
        """Sixteen hexadecimal digits for a client's address (without its port).

        The first digits are the same for all addresses of its network: `network_code`.
        """
        today = self._clock().date()
        with self._lock:
            if self._day != today:
                self._salt = self._kept_salt(today) or self._new_salt(today)
                self._day = today
                self._codes.clear()
            code = self._codes.get(client_address)
            if code is None:
                if len(self._codes) >= _CODES:
                    self._codes.clear()
                code = self._code(network_of(client_address))[:_NETWORK_DIGITS] + self._code(client_address)
                self._codes[client_address] = code = code[:_DIGITS]
        return code

    def _code(self, text: str) -> str:
        return hashlib.blake2b(text.encode("utf-8", "replace"), key=self._salt, digest_size=8).hexdigest()

    def _kept_salt(self, today: date) -> bytes | None:
        if self._path is None:
            return None
        try:
            kept = json.loads(self._path.read_text(encoding="ascii"))
            salt = bytes.fromhex(kept["salt"]) if kept["day"] == today.isoformat() else b""
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return salt if len(salt) == _SALT_BYTES else None

    def _new_salt(self, today: date) -> bytes:
        salt = secrets.token_bytes(_SALT_BYTES)
        if self._path is not None:
            # A disk that is full today may have room tomorrow.
            with suppress(OSError), open(self._path.with_name(f"{self._path.name}.lock"), "ab") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)  # at midnight all workers get here: they need the same salt
                kept = self._kept_salt(today)
                if kept is not None:
                    return kept
                _write_private(self._path, json.dumps({"day": today.isoformat(), "salt": salt.hex()}))
        return salt


def network_code(client: str) -> str:
    """The common beginning of the codes of all clients in one network, for limits per network."""
    return client[:_NETWORK_DIGITS]


def network_of(client_address: str) -> str:
    """The network of an address: /24 of IPv4, /64 of IPv6, where one device has any number of addresses.

    >>> network_of("2001:db8:1:2:a:b:c:d"), network_of("::ffff:192.0.2.7")
    ('2001:db8:1:2::/64', '192.0.2.0/24')
    """
    return _network(client_address, ipv4_bits=24)


def device_of(client_address: str) -> str:
    """What counts as one device for limits: an address of IPv4, a /64 of IPv6.

    >>> device_of("2001:db8:1:2:a:b:c:d"), device_of("::ffff:192.0.2.7")
    ('2001:db8:1:2::/64', '192.0.2.7')
    """
    return _network(client_address, ipv4_bits=32).removesuffix("/32")


def _network(text: str, *, ipv4_bits: int) -> str:
    try:
        address = ipaddress.ip_address(text.partition("%")[0])  # fe80::1%eth0
    except ValueError:
        return text
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    bits = ipv4_bits if address.version == 4 else 64
    return str(ipaddress.ip_network((address, bits), strict=False))


def _write_private(path: Path, text: str) -> None:
    fresh = path.with_name(f"{path.name}.{os.getpid()}.new")
    fresh.unlink(missing_ok=True)
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(text)
    fresh.replace(path)
