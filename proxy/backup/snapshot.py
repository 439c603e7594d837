"""Consistent copies of files that other processes are writing. Blocking."""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

from proxy.backup.contents import BackupPart, PartKind
from proxy.errors import BackupError

_BUSY_TIMEOUT_S = 60.0
_ROUNDS = 3
"""A body may be replaced after its row was copied: then the rows are copied again, at most so often."""
_ROWS = "cache.db"


def copies(part: BackupPart, stage: Path) -> Iterator[tuple[str, Path]]:
    """The files of a part as they were at one moment, by their names in the backup; missing ones are skipped.

    They are in `stage`, or are the original files where nobody changes those.
    """
    try:
        match part.kind:
            case PartKind.CACHE_DIRECTORY:
                yield from _copy_store(part, stage)
            case PartKind.DATABASE:
                copy_database(part.path, stage / "database")
                yield part.name, stage / "database"
            case PartKind.LINES | PartKind.FILE:
                _copy_file(part.path, stage / "file", whole_lines=part.kind is PartKind.LINES)
                yield part.name, stage / "file"
    except FileNotFoundError:
        return
    except (OSError, sqlite3.Error) as error:
        raise BackupError(f"{part.path}: cannot copy: {error}") from error


def copy_database(source: Path, target: Path) -> None:
    """Copy everything committed when the copy began and nothing uncommitted; writers in WAL mode are not blocked."""
    if not source.exists():
        raise FileNotFoundError(source)
    target.unlink(missing_ok=True)
    address = f"{source.resolve().as_uri()}?mode=rw"
    with (
        closing(sqlite3.connect(address, uri=True, timeout=_BUSY_TIMEOUT_S)) as database,
        closing(sqlite3.connect(target)) as copy,
    ):
        database.backup(copy)  # in one step: in several, each write of others would restart it
        copy.execute("PRAGMA journal_mode = DELETE")  # one file, without a journal beside it


def _copy_store(part: BackupPart, stage: Path) -> Iterator[tuple[str, Path]]:
    """The files of a disk store. The store writes a body before its row and removes it after its row. So we first
    hard-link the bodies that are there now; a row that is then copied names one of those, or a body that came
    since.
    """
    rows, bodies = stage / "rows", stage / "bodies"
    shutil.rmtree(bodies, ignore_errors=True)
    missing: list[str] = []
    for _ in range(_ROUNDS):
        for body in part.path.glob("*/*.body"):
            _link_body(body, bodies / body.relative_to(part.path))
        copy_database(part.path / _ROWS, rows)
        names = _body_names(rows)
        missing = [name for name in names if not _ensure_body(part.path / name, bodies / name)]
        if not missing:
            break
    _delete_rows(rows, missing)
    yield f"{part.name}/{_ROWS}", rows
    for name in sorted(set(names) - set(missing)):
        yield f"{part.name}/{name}", bodies / name


def _link_body(body: Path, target: Path) -> None:
    with suppress(
        OSError
    ):  # gone, already linked, or a disk without links: then it is copied once a row names it
        target.parent.mkdir(parents=True, exist_ok=True)
        os.link(body, target)


def _ensure_body(body: Path, target: Path) -> bool:
    if target.exists():
        return True
    _link_body(body, target)
    if not target.exists():
        with suppress(FileNotFoundError):
            shutil.copyfile(body, target)
    return target.exists()


def _body_names(rows: Path) -> list[str]:
    with closing(sqlite3.connect(rows)) as database:
        return [name for (name,) in database.execute("SELECT filename FROM Cache WHERE filename IS NOT NULL")]


def _delete_rows(rows: Path, missing: list[str]) -> None:
    """Delete rows whose body was evicted or replaced meanwhile."""
    with closing(sqlite3.connect(rows)) as database, database:
        database.executemany("DELETE FROM Cache WHERE filename = ?", [(name,) for name in missing])


def _copy_file(source: Path, target: Path, *, whole_lines: bool) -> None:
    shutil.copyfile(source, target)
    if whole_lines:
        os.truncate(target, _end_of_last_line(target))


def _end_of_last_line(path: Path) -> int:
    """Where the last complete line ends: the next one may be half written."""
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
