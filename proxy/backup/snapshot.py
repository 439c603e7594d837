"""Consistent copies of what others are writing meanwhile. Blocking."""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

from proxy.backup.contents import Kind, Part
from proxy.errors import BackupError

_BUSY_TIMEOUT_S = 60.0
_ROUNDS = 3
"""A body may be replaced between the copy of its row and its own: then the rows are copied again, so often."""
_ROWS = "cache.db"


def copies(part: Part, stage: Path) -> Iterator[tuple[str, Path]]:
    """The files of a part as they were at one moment, by their names in the backup; gone ones are passed over.

    They lie in `stage`, or are the files themselves where nobody changes those.
    """
    try:
        match part.kind:
            case Kind.SHELF:
                yield from _shelf(part, stage)
            case Kind.DATABASE:
                copy_database(part.path, stage / "database")
                yield part.name, stage / "database"
            case Kind.LINES | Kind.FILE:
                _copy_file(part.path, stage / "file", whole_lines=part.kind is Kind.LINES)
                yield part.name, stage / "file"
    except FileNotFoundError:
        return
    except (OSError, sqlite3.Error) as error:
        raise BackupError(f"{part.path}: cannot be copied: {error}") from error


def copy_database(source: Path, target: Path) -> None:
    """All that was committed when the copy began, and nothing half done; who writes in WAL mode is not held up."""
    if not source.exists():
        raise FileNotFoundError(source)
    target.unlink(missing_ok=True)
    address = f"{source.resolve().as_uri()}?mode=rw"
    with (
        closing(sqlite3.connect(address, uri=True, timeout=_BUSY_TIMEOUT_S)) as database,
        closing(sqlite3.connect(target)) as copy,
    ):
        database.backup(copy)  # in one step: in several, each write of others would begin it anew
        copy.execute("PRAGMA journal_mode = DELETE")  # one file, without a log beside it


def _shelf(part: Part, stage: Path) -> Iterator[tuple[str, Path]]:
    """A body is put in place before its row and removed after it. So bodies that are there now are held fast by a
    link first; a row then copied names one of those, or a body that came since."""
    rows, bodies = stage / "rows", stage / "bodies"
    shutil.rmtree(bodies, ignore_errors=True)
    missing: list[str] = []
    for _ in range(_ROUNDS):
        for body in part.path.glob("*/*.body"):
            _hold(body, bodies / body.relative_to(part.path))
        copy_database(part.path / _ROWS, rows)
        names = _named(rows)
        missing = [name for name in names if not _held(part.path / name, bodies / name)]
        if not missing:
            break
    _drop(rows, missing)
    yield f"{part.name}/{_ROWS}", rows
    for name in sorted(set(names) - set(missing)):
        yield f"{part.name}/{name}", bodies / name


def _hold(body: Path, target: Path) -> None:
    with suppress(
        OSError
    ):  # gone, held already, or a disk without links: then it is copied once a row names it
        target.parent.mkdir(parents=True, exist_ok=True)
        os.link(body, target)


def _held(body: Path, target: Path) -> bool:
    if target.exists():
        return True
    _hold(body, target)
    if not target.exists():
        with suppress(FileNotFoundError):
            shutil.copyfile(body, target)
    return target.exists()


def _named(rows: Path) -> list[str]:
    with closing(sqlite3.connect(rows)) as database:
        return [name for (name,) in database.execute("SELECT filename FROM Cache WHERE filename IS NOT NULL")]


def _drop(rows: Path, missing: list[str]) -> None:
    """Rows whose body was thrown away since: evicted or replaced."""
    with closing(sqlite3.connect(rows)) as database, database:
        database.executemany("DELETE FROM Cache WHERE filename = ?", [(name,) for name in missing])


def _copy_file(source: Path, target: Path, *, whole_lines: bool) -> None:
    shutil.copyfile(source, target)
    if whole_lines:
        os.truncate(target, _end_of_last_line(target))


def _end_of_last_line(path: Path) -> int:
    """Where the last whole line ends: a longer one may be just being written."""
    step = 65_536
    with path.open("rb") as file:
        end = file.seek(0, os.SEEK_END)
        while end > 0:
            begin = max(0, end - step)
            file.seek(begin)
            found = file.read(end - begin).rfind(b"\n")
            if found >= 0:
                return begin + found + 1
            end = begin
    return 0
