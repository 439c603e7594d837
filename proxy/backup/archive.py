"""The backup file: written in one pass, and not trusted when read.

Its last member has the length and digest of all others, so that they can be written as they are read. We refuse a
name that leads out of the folder, a link, a device, or the same name twice, whoever made the file.
"""

import hashlib
import io
import os
import shutil
import tarfile
import unicodedata
from contextlib import ExitStack
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import IO, Self

import msgspec
import zstandard

from proxy.backup.contents import is_ours
from proxy.errors import BackupError

FORMAT = 1
"""Newer ones are refused; increase it with each change of the format."""
ROOTS = ("data", "settings")

_HEAD = "linkmend-backup.json"
_MANIFEST = "manifest.json"
_STEP = 1024**2
_MAX_HEAD = 64 * 1024
_MAX_WINDOW = 128 * 1024**2
_MAX_FILES = 5_000_000
_MAX_NAME, _MAX_STEP, _MAX_DEPTH = 1_000, 255, 20
_MAX_RATIO = 500
"""Unpacked to packed size of the whole file, beyond the first gigabyte; databases and pages reach ten at most."""
_SMALL = 1024**3
_RESERVE = 64 * 1024**2
"""Disk space that stays free, whatever a backup claims to contain."""


class BackupHeader(msgspec.Struct, frozen=True, kw_only=True):
    """The first member: the format, when the backup was made, and what it contains."""

    format: int
    made_at: str
    cache: bool
    ca: bool


class _Entry(msgspec.Struct, frozen=True):
    size: int
    sha256: str


class _Reading(io.RawIOBase):
    """Reads a file in pieces into a digest, never past a length."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self._file, self._left = file, size
        self.digest = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        piece = self._file.read(self._left if size < 0 else min(size, self._left))
        self._left -= len(piece)
        self.digest.update(piece)
        return piece


class BackupWriter:
    """Adds members one after the other; the file is complete once the block ends without an error."""

    def __init__(self, file: IO[bytes], head: BackupHeader) -> None:
        self.entries: dict[str, _Entry] = {}
        self._stack = ExitStack()
        compressed = zstandard.ZstdCompressor(write_checksum=True).stream_writer(file, closefd=False)
        self._stack.enter_context(compressed)
        self._tar = self._stack.enter_context(
            tarfile.open(fileobj=compressed, mode="w|", format=tarfile.PAX_FORMAT)  # noqa: SIM115
        )
        self._add_bytes(_HEAD, msgspec.json.encode(head))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self._add_bytes(_MANIFEST, msgspec.json.encode(self.entries))
            self._stack.close()

    def add(self, name: str, path: Path) -> None:
        """Add a file; it must not change meanwhile."""
        with path.open("rb") as file:
            about = os.fstat(file.fileno())
            reading = _Reading(file, about.st_size)
            self._tar.addfile(_member(name, about.st_size, int(about.st_mtime)), reading)
            self.entries[name] = _Entry(about.st_size, reading.digest.hexdigest())

    def _add_bytes(self, name: str, content: bytes) -> None:
        self._tar.addfile(_member(name, len(content), 0), io.BytesIO(content))


def _member(name: str, size: int, mtime: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size, member.mtime, member.mode = size, mtime, 0o600
    return member


def unpack(file: Path, into: Path) -> BackupHeader:
    """Unpack a whole backup into a new folder and check every digest. A BackupError leaves the folder incomplete."""
    try:
        with file.open("rb") as packed, ExitStack() as stack:
            unzipped = stack.enter_context(
                zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW).stream_reader(packed)
            )
            tar = tarfile.open(fileobj=unzipped, mode="r|", tarinfo=_PlainMember)  # noqa: SIM115
            return _unpack_members(stack.enter_context(tar), into, _Room(packed=file.stat().st_size, at=into))
    except (tarfile.TarError, zstandard.ZstdError, EOFError, msgspec.DecodeError) as error:
        raise BackupError(f"{file}: not a complete linkmend backup: {error}") from error
    except OSError as error:
        raise BackupError(f"{file}: cannot unpack: {error}") from error
    except BackupError as error:
        raise BackupError(f"{file}: {error}") from error.__cause__


class _PlainMember(tarfile.TarInfo):
    """A member with a small header: tarfile reads long names and the like into memory, whatever size they claim."""

    def _proc_member(self, tar: tarfile.TarFile) -> tarfile.TarInfo:
        plain = self.type in (tarfile.REGTYPE, tarfile.AREGTYPE)
        if self.type == tarfile.GNUTYPE_SPARSE or (not plain and self.size > _MAX_HEAD):
            raise tarfile.ReadError("unexpected file in the backup")
        return super()._proc_member(tar)  # type: ignore[misc,no-any-return]


class _Room:
    """How much may still be unpacked: the free space of the disk, and no more than a file of this size can honestly
    hold.
    """

    def __init__(self, *, packed: int, at: Path) -> None:
        disk = next(place for place in (at, *at.absolute().parents) if place.exists())
        self._left = min(shutil.disk_usage(disk).free - _RESERVE, _SMALL + _MAX_RATIO * packed)

    def take(self, member: tarfile.TarInfo) -> None:
        self._left -= member.size
        if self._left < 0:
            raise BackupError(
                f"{_quote_name(member.name)}: larger than the free disk space or the limit for backups"
            )


def _unpack_members(tar: tarfile.TarFile, into: Path, room: _Room) -> BackupHeader:
    members = iter(tar)
    first = next(members, None)
    if first is None or first.name != _HEAD:
        raise BackupError("not a linkmend backup")
    head = _head(_content(tar, first, _MAX_HEAD))
    found: dict[str, _Entry] = {}
    seen: set[str] = set()
    for member in members:
        if member.name == _MANIFEST:
            most = _MAX_HEAD + sum(6 * len(name) + 200 for name in found)
            _compare(found, msgspec.json.decode(_content(tar, member, most), type=dict[str, _Entry]))
            return head
        place = _safe_path(member)
        # Some disks take `Rules` for `rules`, and two ways to write an é for one.
        if (same := _casefold_name(member.name)) in seen or len(seen) >= _MAX_FILES:
            raise BackupError(
                f"{_quote_name(member.name)} is in the backup twice, or the backup is too large"
            )
        seen.add(same)
        room.take(member)
        found[member.name] = _extract(tar, member, into / place)
    raise BackupError("the file is truncated")


def _casefold_name(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold()


def _quote_name(name: str) -> str:
    return repr(name[:200])


def _head(content: bytes) -> BackupHeader:
    number = msgspec.json.decode(content, type=dict[str, object]).get("format")
    if number != FORMAT:
        raise BackupError(
            f"backup format {number!r} (this linkmend reads {FORMAT}): use the linkmend version that made it"
        )
    return msgspec.json.decode(content, type=BackupHeader)


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo, limit: int) -> bytes:
    file = tar.extractfile(member) if member.isreg() and member.size <= limit else None
    if file is None:
        raise BackupError(f"unexpected file in the backup: {member.name!r}")
    return file.read()


def _safe_path(member: tarfile.TarInfo) -> PurePosixPath:
    """The path of a member inside the folder; raises BackupError for any other place."""
    name = member.name
    steps = name.split("/")
    if (
        not member.isreg()
        or len(steps) < 2
        or steps[0] not in ROOTS
        or len(steps) > _MAX_DEPTH
        or len(name) > _MAX_NAME
        or any(step.strip() in ("", ".", "..") or len(step.encode()) > _MAX_STEP for step in steps)
        or not name.isprintable()
        or any(mark in name for mark in "\\:")
        or is_ours(_casefold_name(steps[1]))
    ):
        raise BackupError(f"unexpected file in the backup: {_quote_name(name)}")
    return PurePosixPath(name)


def _extract(tar: tarfile.TarFile, member: tarfile.TarInfo, target: Path) -> _Entry:
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    source = tar.extractfile(member)
    if source is None:
        raise BackupError(f"{member.name!r} has no content")
    digest = hashlib.sha256()
    with os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        while piece := source.read(_STEP):
            digest.update(piece)
            file.write(piece)
    return _Entry(target.stat().st_size, digest.hexdigest())


def _compare(found: dict[str, _Entry], manifest: dict[str, _Entry]) -> None:
    for name in sorted(found.keys() | manifest.keys()):
        if found.get(name) != manifest.get(name):
            raise BackupError(f"{name!r} has changed since the backup was made (checksum mismatch)")
