"""Who a client is, without saying who: addresses hashed with a salt that is thrown away every day."""

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


class ClientHasher:
    """The same code for the same address all day (UTC), another the next day, and no way back from either.

    With a `path` the day's salt outlives a restart in a file only its owner can read; yesterday's is overwritten.
    Without one, or where the file cannot be written, it lives in memory.
    """

    def __init__(self, path: Path | None = None, *, clock: Callable[[], datetime] | None = None) -> None:
        self._path = path
        self._clock = clock or (lambda: datetime.now(UTC))
        self._day: date | None = None
        self._salt = b""
        self._codes: dict[str, str] = {}
        self._lock = threading.Lock()

    def hash(self, client_address: str) -> str:
        """Sixteen hexadecimal digits for a client's address (without its port)."""
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
                text = client_address.encode("utf-8", "replace")
                code = hashlib.blake2b(text, key=self._salt, digest_size=8).hexdigest()
                self._codes[client_address] = code
        return code

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
            # A disk that is full today may have room for the next day's.
            with suppress(OSError), open(self._path.with_name(f"{self._path.name}.lock"), "ab") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)  # at midnight all workers are here: one salt for all of them
                kept = self._kept_salt(today)
                if kept is not None:
                    return kept
                _write_private(self._path, json.dumps({"day": today.isoformat(), "salt": salt.hex()}))
        return salt


def network_of(client_address: str) -> str:
    """The network that counts as one voice: /24 of IPv4, /64 of IPv6, where one device has any number of addresses.

    >>> network_of("2001:db8:1:2:a:b:c:d"), network_of("::ffff:192.0.2.7")
    ('2001:db8:1:2::/64', '192.0.2.0/24')
    """
    try:
        address = ipaddress.ip_address(client_address.partition("%")[0])
    except ValueError:
        return client_address
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    return str(ipaddress.ip_network((address, 24 if address.version == 4 else 64), strict=False))


def device_of(client_address: str) -> str:
    """What counts as one device when many wait: an address of IPv4, a /64 of IPv6.

    >>> device_of("2001:db8:1:2:a:b:c:d"), device_of("::ffff:192.0.2.7")
    ('2001:db8:1:2::/64', '192.0.2.7')
    """
    try:
        address = ipaddress.ip_address(client_address.partition("%")[0])
    except ValueError:
        return client_address
    if isinstance(address, ipaddress.IPv6Address):
        return str(address.ipv4_mapped or ipaddress.ip_network((address, 64), strict=False))
    return str(address)


def _write_private(path: Path, text: str) -> None:
    fresh = path.with_name(f"{path.name}.{os.getpid()}.new")
    fresh.unlink(missing_ok=True)
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(text)
    fresh.replace(path)
