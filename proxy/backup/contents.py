"""What of a data folder belongs into a backup, and how each part of it has to be copied.

Whatever lies there does, unless it is named here: a store that is added later is not forgotten.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path, PurePosixPath

STAGING = ".backup"
RESTORING = ".restoring"
ASIDE = "before-restore-"

_LEFT_OUT = frozenset(
    {
        "ballast",  # room kept free, nothing else
        "client-salt",  # today's secret of the clients' codes; tomorrow there is another
        "training",
        "cache/spool",
        "ca/sites",  # certificates that are made again when a site is visited
        "removals",  # orders on their way to the running proxy
        "collection/index",  # made anew from the pages
    }
)
_LEFT_OUT_ENDINGS = ("-wal", "-shm", "-journal", ".lock", ".sock")
_SHELVES = ("cache/responses", "cache/pinned")
_SQLITE = b"SQLite format 3\0"


class Kind(Enum):
    """How a part is copied."""

    DATABASE = auto()
    SHELF = auto()
    """A directory of diskcache: its database and the bodies that it names."""
    LINES = auto()
    """A file that others append whole lines to."""
    FILE = auto()
    """A file that is written once, or replaced as a whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One file or shelf; `name` is its path in the backup."""

    name: str
    path: Path
    kind: Kind


def parts(data: Path, *, cache: bool = True, ca: bool = True) -> Iterator[Part]:
    """All that belongs into a backup of a data folder, in an order that is always the same.

    Without `cache` responses are left out that can be fetched again; imported ones stay.
    """
    for shelf in _SHELVES if cache else _SHELVES[1:]:
        newest = _newest(data / shelf)
        if newest is not None:
            yield Part(name=f"data/{shelf}/{newest.name}", path=newest, kind=Kind.SHELF)
    yield from _files(data, leave_out=_LEFT_OUT | {*_SHELVES} | (set() if ca else {"ca"}), under="data")


def folder_parts(folder: Path, name: str) -> Iterator[Part]:
    """All files of another folder, under `name` in the backup."""
    return _files(folder, leave_out=frozenset(), under=name)


def is_ours(name: str) -> bool:
    """Whether an entry of a data folder belongs to the making of backups, not to what is backed up."""
    return name.startswith((STAGING, RESTORING, ASIDE))


def _files(folder: Path, *, leave_out: frozenset[str], under: str, inside: str = "") -> Iterator[Part]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except FileNotFoundError:
        return
    for entry in entries:
        name, path = inside + entry.name, Path(entry.path)
        if name in leave_out or _is_passing(entry.name):
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _files(path, leave_out=leave_out, under=under, inside=f"{name}/")
        elif entry.is_file(follow_symlinks=False):
            yield Part(name=f"{under}/{name}", path=path, kind=_kind(path))


def _is_passing(name: str) -> bool:
    """Locks, logs of databases, what was damaged, and our own."""
    return name == "lock" or name.endswith(_LEFT_OUT_ENDINGS) or ".damaged" in name or is_ours(name)


def _kind(path: Path) -> Kind:
    if ".jsonl" in PurePosixPath(path).suffixes:
        return Kind.LINES
    try:
        with path.open("rb") as file:
            return Kind.DATABASE if file.read(len(_SQLITE)) == _SQLITE else Kind.FILE
    except OSError:
        return Kind.FILE  # gone or forbidden: whoever copies it will say so


def _newest(shelf: Path) -> Path | None:
    """The generation in use; damaged ones before it are left alone."""
    try:
        generations = [path for path in shelf.iterdir() if path.name.isdecimal()]
    except FileNotFoundError:
        return None
    return max(generations, key=lambda path: int(path.name), default=None)
