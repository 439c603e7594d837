"""One diskcache directory of responses: rows in SQLite, larger bodies in files beside it. Blocking; no decisions.

A row is one variant of one URL: its record, and the name of its body's file if it has one. All variants of a URL
lie side by side in the key's index, so one query finds them. A body is put in place first, then its row is
committed, and only then is the body of the row it replaced removed. So whenever the process is killed, there is
the old response or the new one; a body without a row is removed by `sweep` at the next start.

The database lies in a numbered directory. A damaged one is left where it is and the next number begun: renaming
it would be unsafe, since whoever still has it open deletes the new one's log by name when closing.
"""

import logging
import os
import shutil
import sqlite3
import threading
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

from proxy.cache.entry import FileBody, Headers, StoredResponse
from proxy.store.records import Damaged, Record, decode, encode, record_of, response_of, variant_name
from proxy.store.rows import FoundRow, NewRow, Rows
from proxy.store.tenancy import changed_before

log = logging.getLogger(__name__)

IN_ROW_BYTES = 64 * 1024
"""Bodies up to this size lie in the row: one read, no file to open."""
MAX_VARIANTS = 16
"""Of one URL; a site that varies on more would otherwise fill the cache with one page."""
Use = tuple[str, Headers | None]
"""A key, and by its `vary` which variant was used; None: whichever there is."""
_BODY = ".body"


@dataclass(frozen=True, slots=True, kw_only=True)
class _KeyRange:
    """Where the variants of one URL lie in the index: its length first, so that no URL is a prefix of another."""

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


class Shelf:
    """Responses by key. `max_bytes` None means that nothing is ever evicted. Threads may share it."""

    def __init__(self, base: Path, *, root: Path, spool: Path, max_bytes: int | None) -> None:
        """Bodies in `spool` are moved here, others in the store's `root` linked, all others copied."""
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
        """Every whole variant, newest first; rows that are not whole are deleted."""
        found, missing = self._restored(key)
        if missing:
            # A variant may have been replaced, and its old file removed, since its row was read: look again.
            found, missing = self._restored(key)
        for row in missing:
            self._rows.discard(row)
        return found

    def keys_with(self, part: str) -> set[str]:
        """The keys in which a text occurs."""
        found = self._rows.keys_with(part.encode("utf-8", "surrogatepass"))
        return {key[4:-16].decode("utf-8", "surrogatepass") for key in found}

    def put(self, key: str, response: StoredResponse) -> bool:
        """Replaces the variant with equal `vary`. False when the body is not what it says it is.

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

    def remove(self, key: str) -> None:
        where = _range_of(key)
        self._rows.drop(where.low, where.high)

    def erase(self, key: str) -> bool:
        """Removes every variant so that nothing of it is left on disk; False when others kept us from all of it.

        Generations left aside go as well: they may hold it.
        """
        self.remove(key)
        for old in range(self.generation - 1, 0, -1):
            shutil.rmtree(self.base / str(old), ignore_errors=True)
        return self._rows.scrub()

    def mark_used(self, used: Mapping[Use, float]) -> None:
        """When each was last used, in seconds since the epoch; what is not held is ignored."""
        ranges = ((_use_range(use), at) for use, at in used.items())
        self._rows.mark_used((where.low, where.high, at) for where, at in ranges)

    def over_limit(self) -> bool:
        return self.max_bytes is not None and self._rows.volume() > self.max_bytes

    def evict(self) -> int:
        """Removes the least recently used until the limit is kept; how many."""
        return 0 if self.max_bytes is None else self._rows.evict(self.max_bytes)

    def volume(self) -> int:
        """Bytes on disk."""
        return int(self._rows.volume())

    def count(self) -> int:
        """Responses held, each variant counted."""
        return len(self._rows)

    def sweep(self, *, before: float) -> int:
        """Removes bodies that no row refers to and that have not changed since `before`; how many.

        Of the generations left aside, the last is kept for whoever wants to look into it.
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
        """Leaves a damaged generation aside and goes on in the next, unless that was done meanwhile."""
        with self._renewing:
            if damaged != self.generation:
                return
            following = max(_newest(self.base), damaged + 1)  # another process may have begun it
            self._rows = self._open(following)
            self.generation = following
        log.error("the cache in %s is damaged: left aside, begun anew", self.base / str(damaged))
        for body in (self.base / str(damaged)).glob(f"*/*{_BODY}"):
            body.unlink(missing_ok=True)

    def close(self) -> None:
        """Closes the calling thread's connection; it opens again when used."""
        self._rows.close()

    def _open(self, generation: int) -> Rows:
        directory = self.base / str(generation)
        directory.mkdir(exist_ok=True)
        return Rows.open(directory, evicts=self.max_bytes is not None)

    def _restored(self, key: str) -> tuple[tuple[StoredResponse, ...], list[FoundRow]]:
        where = _range_of(key)
        found: list[StoredResponse] = []
        missing: list[FoundRow] = []
        for row in self._rows.within(where.low, where.high):
            try:
                record = decode(row.record)
                found.append(response_of(record, self._body(record, row.filename)))
            except Damaged as error:
                log.warning("dropped a damaged response from the cache: %s: %s", key, error)
                self._rows.discard(row)
            except OSError:
                missing.append(row)
        return tuple(found), missing

    def _body(self, record: Record, filename: str | None) -> bytes | FileBody:
        """Raises OSError when there is no such file, Damaged when it is not what the record says."""
        if record.body is not None:
            return record.body
        if filename is None:
            raise Damaged("neither a body nor a file")
        path = self._path(filename)
        if path.stat().st_size != record.length:
            raise Damaged("the body's file has another length")
        if record.body_crc is None:
            return FileBody(path=path, size=record.length)
        body = path.read_bytes()
        if zlib.crc32(body) != record.body_crc:
            raise Damaged("the body's checksum does not match")
        return body

    def _place(self, body: bytes | FileBody) -> str:
        """Puts a body into a file of its own in this directory; its name."""
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
            # A refreshed response brings back the file of the one it replaces, which will then be removed.
            # Files of others are copied: they may change under us.
            if source.is_relative_to(self._root):
                os.link(source, target)
                return
        except FileNotFoundError:
            raise
        except OSError:
            log.debug("no hard links in %s: copying", self.directory)
        try:
            shutil.copyfile(source, target)
        except OSError:
            target.unlink(missing_ok=True)
            raise

    def _withdraw(self, name: str | None) -> None:
        """After a failed write. A commit that failed leaves its transaction open: only closing ends it."""
        try:
            self._rows.close()
        finally:
            if name is not None:
                self._path(name).unlink(missing_ok=True)

    def _path(self, name: str) -> Path:
        return self.directory / name


def is_damage(error: BaseException) -> bool:
    """Whether SQLite means that the file itself is broken, rather than locked, full or forbidden."""
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def _is_foreign(error: sqlite3.Error) -> bool:
    """Whether the tables are not as we make them; only at the start, when no statement of ours can be at fault."""
    return error.sqlite_errorcode == sqlite3.SQLITE_ERROR


def _is_whole(body: FileBody) -> bool:
    try:
        return body.path.stat().st_size == body.size
    except OSError:
        return False


def _newest(base: Path) -> int:
    """The number of the generation in use; 0 when there is none."""
    return max((int(path.name) for path in base.iterdir() if path.name.isdecimal()), default=0)
