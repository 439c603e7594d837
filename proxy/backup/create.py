"""Makes a backup of a data folder in use. The file appears complete under its name, or not at all."""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

from proxy.backup.archive import FORMAT, BackupHeader, BackupWriter
from proxy.backup.contents import STAGING, BackupPart, PartKind, folder_parts, parts
from proxy.backup.restorer import give_to_owner
from proxy.backup.snapshot import copies
from proxy.errors import BackupError


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupResult:
    """The result of a backup."""

    files: int
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupRequest:
    """What to include beside the pages and the log; `settings` and `rules` may lie outside the data folder."""

    cache: bool = True
    ca: bool = True
    settings: Path | None = None
    rules: Path | None = None


def make_backup(data: Path, target: Path, wanted: BackupRequest) -> BackupResult:
    """Write a backup to a file, replacing an older one. Raises BackupError, and then nothing has changed.

    It contains everything committed before it began.
    """
    if not data.is_dir():
        raise BackupError(f"{data}: no such data folder")
    head = BackupHeader(
        format=FORMAT,
        made_at=datetime.now(UTC).isoformat(timespec="seconds"),
        cache=wanted.cache,
        ca=wanted.ca,
    )
    partial = target.with_name(f".{target.name}.part")
    ours = {target.absolute(), partial.absolute()}
    try:
        with _staging(data) as stage, _atomic_target(target, partial) as descriptor:
            with os.fdopen(descriptor, "wb", closefd=False) as file, BackupWriter(file, head) as writer:
                for part in _all_parts(data, wanted):
                    if part.path.absolute() not in ours:
                        for name, copy in copies(part, stage):
                            writer.add(name, copy)
            return BackupResult(files=len(writer.entries), size=os.fstat(descriptor).st_size)
    except OSError as error:
        raise BackupError(f"{target}: {error.strerror or error}") from error


def _all_parts(data: Path, wanted: BackupRequest) -> Iterator[BackupPart]:
    outside: list[Iterator[BackupPart]] = []
    if wanted.settings is not None:
        settings = BackupPart(name="settings/linkmend.toml", path=wanted.settings, kind=PartKind.FILE)
        outside.append(iter((settings,)))
    if wanted.rules is not None and not wanted.rules.resolve().is_relative_to(data.resolve()):
        outside.append(folder_parts(wanted.rules, "settings/rules.d"))
    return chain(*outside, parts(data, cache=wanted.cache, ca=wanted.ca))


@contextmanager
def _staging(data: Path) -> Iterator[Path]:
    """A folder on the disk of the data, where bodies can be hard-linked; removes what a killed backup left."""
    stage = data / STAGING
    with _backup_lock(data):
        shutil.rmtree(stage, ignore_errors=True)
        stage.mkdir(mode=0o700)
        try:
            yield stage
        finally:
            shutil.rmtree(stage, ignore_errors=True)


@contextmanager
def _backup_lock(data: Path) -> Iterator[None]:
    """A lock that ends with the process, however it ends; `linkmend train` locks the folder itself."""
    lock = data / f"{STAGING}.lock"
    handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        give_to_owner(lock, data)  # the next backup may not run as root
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BackupError(f"{data}: another backup is running") from error
        yield
    finally:
        os.close(handle)


@contextmanager
def _atomic_target(target: Path, partial: Path) -> Iterator[int]:
    """A private temporary file that is renamed to `target` once it is complete and on the disk."""
    partial.unlink(missing_ok=True)  # of a killed backup; it may have been readable for others
    descriptor = os.open(partial, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        yield descriptor
        os.fsync(descriptor)
        os.replace(partial, target)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)
    folder = os.open(target.absolute().parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
