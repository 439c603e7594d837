"""Which parts of a data folder belong in a backup, and how to copy each.

Everything belongs in it unless it is named here, so a store that is added later is not forgotten.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path, PurePosixPath

STAGING = ".backup"
RESTORING = ".restoring"
ASIDE = "before-restore-"

_EXCLUDED = frozenset(
    {
        "ballast",  # reserved disk space, no content
        "client-salt",  # today's secret of the client codes; tomorrow there is another
        "running",  # where the running linkmend listens
        "training",
        "import",  # files to import; what was imported is in the collection and the cache
        "cache/spool",
        "ca/sites",  # certificates that are made again when a site is visited
        "removals",  # orders on their way to the running proxy
        "collection/index",  # rebuilt from the pages
    }
)
_EXCLUDED_SUFFIXES = ("-wal", "-shm", "-journal", ".lock", ".sock")
_CACHE_DIRECTORIES = ("cache/responses", "cache/pinned")
_SQLITE = b"SQLite format 3\0"


class PartKind(Enum):
    """How a part is copied."""

    DATABASE = auto()
    CACHE_DIRECTORY = auto()
    """A directory of diskcache: its database and the bodies that it names."""
    LINES = auto()
    """A file to which others append lines."""
    FILE = auto()
    """A file that is written once, or replaced as a whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupPart:
    """One file or disk store; `name` is its path in the backup."""

    name: str
    path: Path
    kind: PartKind


def parts(data: Path, *, cache: bool = True, ca: bool = True) -> Iterator[BackupPart]:
    """Everything that belongs in a backup of a data folder, always in the same order.

    Without `cache`, responses that can be fetched again are left out; imported ones stay.
    """
    for directory in _CACHE_DIRECTORIES if cache else _CACHE_DIRECTORIES[1:]:
        newest = _newest(data / directory)
        if newest is not None:
            yield BackupPart(
                name=f"data/{directory}/{newest.name}", path=newest, kind=PartKind.CACHE_DIRECTORY
            )
    yield from _files(
        data, leave_out=_EXCLUDED | {*_CACHE_DIRECTORIES} | (set() if ca else {"ca"}), under="data"
    )


def folder_parts(folder: Path, name: str) -> Iterator[BackupPart]:
    """All files of another folder, under `name` in the backup."""
    return _files(folder, leave_out=frozenset(), under=name)


def is_ours(name: str) -> bool:
    """Whether an entry of a data folder is a working file of backups, not content."""
    return name.startswith((STAGING, RESTORING, ASIDE))


def _files(folder: Path, *, leave_out: frozenset[str], under: str, inside: str = "") -> Iterator[BackupPart]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except FileNotFoundError:
        return
    for entry in entries:
        name, path = inside + entry.name, Path(entry.path)
        if name in leave_out or _is_temporary(entry.name):
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _files(path, leave_out=leave_out, under=under, inside=f"{name}/")
        elif entry.is_file(follow_symlinks=False):
            yield BackupPart(name=f"{under}/{name}", path=path, kind=_kind(path))


def _is_temporary(name: str) -> bool:
    """Locks, database journals, damaged files, and our working files."""
    return name == "lock" or name.endswith(_EXCLUDED_SUFFIXES) or ".damaged" in name or is_ours(name)


def _kind(path: Path) -> PartKind:
    if ".jsonl" in PurePosixPath(path).suffixes:
        return PartKind.LINES
    try:
        with path.open("rb") as file:
            return PartKind.DATABASE if file.read(len(_SQLITE)) == _SQLITE else PartKind.FILE
    except OSError:
        return PartKind.FILE  # gone or forbidden: the copy will report it


def _newest(directory: Path) -> Path | None:
    """The generation in use; damaged ones before it are ignored."""
    try:
        generations = [path for path in directory.iterdir() if path.name.isdecimal()]
    except FileNotFoundError:
        return None
    return max(generations, key=lambda path: int(path.name), default=None)
