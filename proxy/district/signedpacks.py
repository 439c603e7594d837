"""Signed repairs on a USB stick, for schools without a line: who wrote them, until when they count, and only once.

    {"form": "linkmend signed repairs 1", "school", "key", "serial", "expires", "lines"}     the header
    {"repair": ...} or {"pin": {"url", "target"}}                                            lines
    {"signature": ...}                                                                       of all bytes above

The signature is Ed25519 over the SHA-512 of everything above it. A file counts when the settings name its key
(`district.pack_keys`), it has not expired, and its serial is higher than that of every file of this key before: so
nobody can change a file, write one in another school's name, or bring an old one back. Files are small; they are
checked whole before anything of them is used.
"""

import base64
import hashlib
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Annotated

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from proxy.errors import LinkmendError, SettingsError
from repair.collection.database import Database
from repair.collection.elsewhere import Confirmation, ConfirmedElsewhere, OtherSchool
from repair.collection.pins import Pin, same_page_key

KEY_FILE = "repairs-key"
"""The school's private key, in the data folder: 32 bytes, for their owner only."""
EXPIRES_DAYS = 60
_FORM = "linkmend signed repairs 1"
_CONTEXT = b"linkmend signed repairs\0"
_MAX_BYTES = 64 * 1024**2
_MAX_LINES = 200_000
_MAX_NAME = 80
_LONGEST = timedelta(days=366)
_SERIAL = "repairs_serial "


class _Header(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    form: str
    school: Annotated[str, msgspec.Meta(min_length=1, max_length=_MAX_NAME)]
    key: str
    serial: Annotated[int, msgspec.Meta(ge=1, le=2**62)]
    expires: date
    lines: Annotated[int, msgspec.Meta(ge=0, le=_MAX_LINES)]


class _PinLine(msgspec.Struct, kw_only=True):
    url: Annotated[str, msgspec.Meta(max_length=2_000)]
    target: Annotated[str, msgspec.Meta(max_length=2_000)]


class _Line(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    repair: msgspec.Raw = msgspec.Raw()
    pin: _PinLine | None = None


class _Trailer(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    signature: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedRepairs:
    """What a file says, its signature checked: `repairs` are lines as `repairs export` writes them unsigned."""

    school: str
    key: str
    serial: int
    repairs: tuple[bytes, ...]
    pins: tuple[tuple[str, str], ...]


def own_key(data: Path) -> Ed25519PrivateKey:
    """The private key of this school, made the first time. Raises LinkmendError."""
    file = data / KEY_FILE
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        pass
    except OSError as error:
        raise LinkmendError(f"{file}: {error.strerror}") from error
    else:
        with os.fdopen(handle, "wb") as out:
            out.write(Ed25519PrivateKey.generate().private_bytes_raw())
    try:
        return Ed25519PrivateKey.from_private_bytes(file.read_bytes())
    except (OSError, ValueError) as error:
        raise LinkmendError(f"{file}: cannot be read as a key: {error}") from error


def public_text(key: Ed25519PrivateKey) -> str:
    """The public key as other schools put it into their settings."""
    return base64.b64encode(key.public_key().public_bytes_raw()).decode()


def trusted_keys(named: Sequence[str]) -> dict[str, str]:
    """The names of schools by their keys, from settings such as "School B = KEY"; raises SettingsError."""
    found = {}
    for each in named:
        name, _, key = (part.strip() for part in each.partition(" = "))
        if not name or len(name) > _MAX_NAME or not name.isprintable() or len(_bytes_of(key)) != 32:
            raise SettingsError(
                f'district.pack_keys: expected "NAME = KEY" as `linkmend repairs key` prints, got {each!r}'
            )
        found[key] = name
    return found


def write_signed(
    school: str, repairs: Iterable[bytes], pins: Iterable[Pin], key: Ed25519PrivateKey, *, now: datetime
) -> bytes:
    """A file with repairs (lines of the unsigned form) and pins."""
    lines = [b'{"repair":' + line.strip() + b"}\n" for line in repairs]
    lines += [msgspec.json.encode({"pin": {"url": pin.url, "target": pin.target}}) + b"\n" for pin in pins]
    if len(lines) > _MAX_LINES:
        raise LinkmendError(f"more than {_MAX_LINES} repairs")
    header = _Header(
        form=_FORM,
        school=school,
        key=public_text(key),
        serial=time.time_ns(),
        expires=now.date() + timedelta(days=EXPIRES_DAYS),
        lines=len(lines),
    )
    signed = b"".join((msgspec.json.encode(header), b"\n", *lines))
    signature = base64.b64encode(key.sign(_digest(signed))).decode()
    return signed + msgspec.json.encode(_Trailer(signature=signature)) + b"\n"


def is_signed(start: bytes) -> bool:
    """Whether a file that begins so is one of these."""
    return start.startswith(b'{"form":"linkmend signed repairs')


def read_signed(content: bytes, trusted: Mapping[str, str], *, now: datetime) -> SignedRepairs:
    """What a file says; ValueError with the reason when it does not count. The school's name is the trusted one."""
    if len(content) > _MAX_BYTES:
        raise ValueError("the file is too large")
    signed, _, last = content.rstrip(b"\n").rpartition(b"\n")
    signed += b"\n"
    first, _, rest = signed.partition(b"\n")
    try:
        header = msgspec.json.decode(first, type=_Header)
        trailer = msgspec.json.decode(last, type=_Trailer)
    except msgspec.MsgspecError as error:
        raise ValueError(f"not a file of signed repairs: {error}") from error
    if header.form != _FORM:
        raise ValueError(f"expected {_FORM!r}, got {header.form[:60]!r}")
    name = trusted.get(header.key)
    if name is None:
        raise ValueError(
            f"signed with a key that is not trusted here; if it is that of {header.school!r}, add"
            f' "NAME = {header.key[:60]}" to district.pack_keys'
        )
    try:
        key = Ed25519PublicKey.from_public_bytes(_bytes_of(header.key))
        key.verify(_bytes_of(trailer.signature), _digest(signed))
    except (InvalidSignature, ValueError) as error:
        raise ValueError("the signature is wrong: the file was changed or is incomplete") from error
    if not now.date() <= header.expires <= now.date() + _LONGEST:
        raise ValueError(f"it counted until {header.expires}; ask for a newer one")
    repairs, pins = _lines_of(rest, header.lines)
    return SignedRepairs(school=name, key=header.key, serial=header.serial, repairs=repairs, pins=pins)


def note_serial(database: Database, found: SignedRepairs) -> None:
    """Note that a file was used; ValueError when it, or a later one of its key, was used before.

    Part of the caller's transaction: a file counts as used when all of it was.
    """
    with database.write() as connection:
        name = _SERIAL + found.key
        row = connection.execute("SELECT value FROM meta WHERE key = ?", (name,)).fetchone()
        if row is not None and found.serial <= int(row[0]):
            raise ValueError("it was imported before, or a later file of this school was")
        connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, str(found.serial)))


def offer_pins(database: Database, found: SignedRepairs) -> int:
    """Offer what the school pinned, in place of what its earlier file said; returns how many pins there are."""
    school = OtherSchool(school=school_number(found.key), name=found.school)
    said = [
        Confirmation(
            school=school.school,
            kind="pin",
            key=hashlib.sha256(f"{same_page_key(url)}\0".encode()).digest()[:16],
            url=url,
            target=target,
        )
        for url, target in found.pins
    ]
    return ConfirmedElsewhere(database).replace_school(school, said)


def school_number(key: str) -> int:
    """A number for a school that is known by its key; below zero, where the district's database has none."""
    return -1 - int.from_bytes(hashlib.sha256(key.encode()).digest()[:6])


def _lines_of(rest: bytes, count: int) -> tuple[tuple[bytes, ...], tuple[tuple[str, str], ...]]:
    repairs, pins = [], []
    lines = rest.splitlines()
    if len(lines) != count:
        raise ValueError(f"expected {count} lines, got {len(lines)}")
    for number, line in enumerate(lines, 2):
        try:
            parsed = msgspec.json.decode(line, type=_Line)
            if bytes(parsed.repair):
                repairs.append(bytes(parsed.repair))
            if parsed.pin is not None and same_page_key(parsed.pin.url) != same_page_key(parsed.pin.target):
                pins.append((parsed.pin.url, parsed.pin.target))
        except ValueError as error:  # also what msgspec raises
            raise ValueError(f"line {number}: {error}") from error
    return tuple(repairs), tuple(pins)


def _digest(signed: bytes) -> bytes:
    return _CONTEXT + hashlib.sha512(signed).digest()


def _bytes_of(text: str) -> bytes:
    try:
        return base64.b64decode(text.encode("ascii"), validate=True)
    except ValueError:
        return b""
