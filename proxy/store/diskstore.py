"""One diskcache directory of responses: rows in SQLite, larger bodies in files beside it. Blocking.

A row is one variant of one URL: its record, and the name of its body's file if it has one. All variants of a URL are
adjacent in the index, so one query finds them. The body's file is written first, then the row is committed, and only
then is the replaced row's file removed. So a killed process leaves the old response or the new one; `sweep` removes a
file without a row at the next start.

The database is in a numbered directory. A damaged one stays where it is, and the next number is used. Renaming it
would be unsafe: a process that still has it open deletes the new database's log by name when it closes.
"""

import logging
import os
import shutil
import sqlite3
import threading
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

from proxy.messages import FileBody, Headers, StoredResponse
from proxy.store.directorylock import changed_before
from proxy.store.records import (
    DamagedRecord,
    StoredRecord,
    decode,
    encode,
    record_of,
    response_of,
    variant_name,
)
from proxy.store.rows import DiskRows, FoundRow, NewRow

log = logging.getLogger(__name__)

IN_ROW_BYTES = 64 * 1024
"""Bodies up to this size are in the row: one read, no file to open."""
MAX_VARIANTS = 16
"""Variants per URL; a site with more would fill the cache with one page."""
Use = tuple[str, Headers | None]
"""A key, and the `vary` of the used variant; None for any variant."""
_BODY = ".body"


@dataclass(frozen=True, slots=True, kw_only=True)
class _KeyRange:
    """The index range of the variants of one URL; begins with its length, so that no URL is a prefix of another."""

    low: bytes
    high: bytes


def _range_of(key: str) -> _KeyRange:
    url = key.encode("utf-8", "surrogatepass")
    prefix = len(url).to_bytes(4) + url
    return _KeyRange(low=prefix + b"\x00" * 16, high=prefix + b"\xff" * 16)


def _row_key(key: str, vary: Headers) -> bytes:
    return _range_of(key).low[:-16] + variant_name(vary)


def _use_range(use: Use) -> _KeyRange:
    key, vary = use
    if vary is None:
        return _range_of(key)
    row = _row_key(key, vary)
    return _KeyRange(low=row, high=row)


class DiskStore:
    """Responses by key. With `max_bytes` None nothing is ever evicted. Threads may share it."""

    def __init__(self, base: Path, *, root: Path, spool: Path, max_bytes: int | None) -> None:
        """Files in `spool` are moved here, other files below the store's `root` are linked, all others copied."""
        self.base = base
        self.max_bytes = max_bytes
        self._root = root
        self._spool = spool
        self._renewing = threading.Lock()
        base.mkdir(exist_ok=True)
        self.generation = _newest(base) or 1
        try:
            self._rows = self._open(self.generation)
        except sqlite3.DatabaseError as error:
            if not (is_damage(error) or _is_foreign(error)):
                raise
            self.renew(self.generation)

    @property
    def directory(self) -> Path:
        return self.base / str(self.generation)

    def get(self, key: str) -> tuple[StoredResponse, ...]:
        """Every complete variant, newest first; deletes incomplete rows."""
        found, missing = self._read_variants(key)
        if missing:
            # A variant may have been replaced, and its old file removed, since its row was read: read again.
            found, missing = self._read_variants(key)
        for row in missing:
            self._rows.discard(row)
        return found

    def get_unwaiting(self, key: str) -> tuple[StoredResponse, ...]:
        """As `get`, for a thread that must not wait for locks; raises sqlite3.OperationalError instead."""
        self._rows.never_wait()
        found, missing = self._read_variants(key)
        return () if missing else found

    def lacks_unwaiting(self, key: str) -> bool:
        """Whether nothing is stored under a key, for a thread that must not wait for locks, as above."""
        where = _range_of(key)
        return not self._rows.has_unwaiting(where.low, where.high)

    def keys_with(self, part: str) -> set[str]:
        """The keys that contain a text."""
        found = self._rows.keys_with(part.encode("utf-8", "surrogatepass"))
        return {key[4:-16].decode("utf-8", "surrogatepass") for key in found}

    def put(self, key: str, response: StoredResponse) -> bool:
        """Replaces the variant with equal `vary`. False when the body's file has the wrong length.

        Raises OSError, sqlite3.Error or diskcache.Timeout when it cannot be written; then nothing has changed.
        """
        if isinstance(response.body, FileBody) and not _is_whole(response.body):
            return False
        record = record_of(response, in_record_bytes=IN_ROW_BYTES)
        value = encode(record)
        name = None if record.body is not None else self._place(response.body)
        size = 0 if name is None else record.length
        try:
            self._rows.set(_row_key(key, response.vary), NewRow(record=value, filename=name, size=size))
        except BaseException:
            self._withdraw(name)
            raise
        if response.vary:
            where = _range_of(key)
            self._rows.drop(where.low, where.high, keep=MAX_VARIANTS)
        return True

    def put_small(self, responses: Iterable[tuple[str, StoredResponse]]) -> None:
        """As `put` for responses without `vary` whose bodies fit into their rows: all of them, or none.

        Leaves out what cannot be serialised. Raises sqlite3.Error or diskcache.Timeout.
        """
        rows = []
        for key, response in responses:
            try:
                record = encode(record_of(response, in_record_bytes=IN_ROW_BYTES))
            except ValueError as error:
                log.warning("cache: response not stored, cannot serialise its headers: %s", error)
                continue
            rows.append((_row_key(key, response.vary), NewRow(record=record, filename=None, size=0)))
        try:
            self._rows.set_many(rows)
        except BaseException:
            self._withdraw(None)
            raise

    def remove(self, key: str) -> None:
        where = _range_of(key)
        self._rows.drop(where.low, where.high)

    def erase(self, key: str) -> bool:
        """Removes every variant and its traces on disk; False when other processes blocked a part of that.

        Also removes damaged generations, which may contain it.
        """
        self.remove(key)
        for old in range(self.generation - 1, 0, -1):
            shutil.rmtree(self.base / str(old), ignore_errors=True)
        return self._rows.scrub()

    def mark_used(self, used: Mapping[Use, float]) -> None:
        """Sets the last uses, in seconds since the epoch; ignores keys that are not stored."""
        ranges = ((_use_range(use), at) for use, at in used.items())
        self._rows.mark_used((where.low, where.high, at) for where, at in ranges)

    def over_limit(self) -> bool:
        return self.max_bytes is not None and self._rows.volume() > self.max_bytes

    def evict(self) -> int:
        """Removes the least recently used responses until the volume is within the limit; returns how many."""
        return 0 if self.max_bytes is None else self._rows.evict(self.max_bytes)

    def volume(self) -> int:
        """Bytes on disk."""
        return int(self._rows.volume())

    def count(self) -> int:
        """The number of stored responses, counting each variant."""
        return len(self._rows)

    def sweep(self, *, before: float) -> int:
        """Removes body files without a row that have not changed since `before`; returns how many.

        Of the damaged generations the last one stays, for inspection.
        """
        known = self._rows.filenames()
        removed = 0
        for path in self.directory.glob(f"*/*{_BODY}"):
            name = path.relative_to(self.directory).as_posix()
            if name not in known and changed_before(path, before):
                path.unlink(missing_ok=True)
                removed += 1
        for old in range(self.generation - 2, 0, -1):
            shutil.rmtree(self.base / str(old), ignore_errors=True)
        return removed

    def renew(self, damaged: int) -> None:
        """Switches from a damaged generation to the next, unless another thread already did."""
        with self._renewing:
            if damaged != self.generation:
                return
            following = max(_newest(self.base), damaged + 1)  # another process may have created it
            self._rows = self._open(following)
            self.generation = following
        log.error("cache damaged: %s left aside, started a new one", self.base / str(damaged))
        for body in (self.base / str(damaged)).glob(f"*/*{_BODY}"):
            body.unlink(missing_ok=True)

    def close(self) -> None:
        """Closes the calling thread's connection; it opens again when used."""
        self._rows.close()

    def _open(self, generation: int) -> DiskRows:
        directory = self.base / str(generation)
        directory.mkdir(exist_ok=True)
        return DiskRows.open(directory, evicts=self.max_bytes is not None)

    def _read_variants(self, key: str) -> tuple[tuple[StoredResponse, ...], list[FoundRow]]:
        where = _range_of(key)
        found: list[StoredResponse] = []
        missing: list[FoundRow] = []
        for row in self._rows.within(where.low, where.high):
            try:
                record = decode(row.record)
                found.append(response_of(record, self._body(record, row.filename)))
            except DamagedRecord as error:
                log.warning("cache: dropped a damaged response: %s: %s", key, error)
                self._rows.discard(row)
            except OSError:
                missing.append(row)
        return tuple(found), missing

    def _body(self, record: StoredRecord, filename: str | None) -> bytes | FileBody:
        """Raises OSError when the file is missing, Damaged when it does not match the record."""
        if record.body is not None:
            return record.body
        if filename is None:
            raise DamagedRecord("no body and no file")
        path = self._path(filename)
        if path.stat().st_size != record.length:
            raise DamagedRecord("the body file has the wrong length")
        if record.body_crc is None:
            return FileBody(path=path, size=record.length)
        body = path.read_bytes()
        if zlib.crc32(body) != record.body_crc:
            raise DamagedRecord("the body's checksum does not match")
        return body

    def _place(self, body: bytes | FileBody) -> str:
        """Puts a body into a new file in this directory; returns its name."""
        token = token_hex(16)
        name = f"{token[:2]}/{token[2:]}{_BODY}"
        path = self._path(name)
        path.parent.mkdir(exist_ok=True)
        if isinstance(body, FileBody):
            self._take(body.path, path)
            return name
        try:
            path.write_bytes(body)
        except OSError:
            path.unlink(missing_ok=True)
            raise
        return name

    def _take(self, source: Path, target: Path) -> None:
        if source.is_relative_to(self._spool):
            os.replace(source, target)
            return
        try:
            # A refreshed response uses the file of the one it replaces, which will then be removed.
            # Files from elsewhere are copied, since they may change.
            if source.is_relative_to(self._root):
                os.link(source, target)
                return
        except FileNotFoundError:
            raise
        except OSError:
            log.debug("cache: no hard links in %s, copying instead", self.directory)
        try:
            shutil.copyfile(source, target)
        except OSError:
            target.unlink(missing_ok=True)
            raise

    def _withdraw(self, name: str | None) -> None:
        """Cleans up after a failed write. A failed commit leaves its transaction open: only closing ends it."""
        try:
            self._rows.close()
        finally:
            if name is not None:
                self._path(name).unlink(missing_ok=True)

    def _path(self, name: str) -> Path:
        return self.directory / name


def is_damage(error: BaseException) -> bool:
    """Whether SQLite reports a damaged file, rather than a locked, full or forbidden one."""
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def _is_foreign(error: sqlite3.Error) -> bool:
    """Whether the tables are not ours. Use it only at the start, when no statement of ours can be the cause."""
    return error.sqlite_errorcode == sqlite3.SQLITE_ERROR


def _is_whole(body: FileBody) -> bool:
    try:
        return body.path.stat().st_size == body.size
    except OSError:
        return False


def _newest(base: Path) -> int:
    """The number of the generation in use; 0 when there is none."""
    return max((int(path.name) for path in base.iterdir() if path.name.isdecimal()), default=0)
