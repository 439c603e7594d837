"""The two disk tiers of a store, evictable and pinned, with error handling. Blocking.

Disk errors never reach the user: an unreadable response counts as missing, an unwritable one is not stored, and the
log says so once a minute. A damaged database is replaced by a new one.
"""

import logging
import shutil
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import diskcache

from proxy.messages import FileBody, Headers, StoredResponse
from proxy.store.directorylock import DirectoryLock, sweep_spools
from proxy.store.diskstore import DiskStore, Use, is_damage
from repair.logs import RateLimitedLogger

log = logging.getLogger(__name__)

DISK_ERRORS = (OSError, sqlite3.Error, diskcache.Timeout)
"""Errors of the disk and of the database on it."""


class StoreTiers:
    """`read`, `volume` and `count` may run in several threads, all writing methods in one."""

    def __init__(self, directory: Path, *, spool: Path, max_bytes: int) -> None:
        """Raises one of DISK_ERRORS."""
        self._spool = spool
        self._max_bytes = max_bytes
        self._responses = DiskStore(directory / "responses", root=directory, spool=spool, max_bytes=max_bytes)
        self._pinned = DiskStore(directory / "pinned", root=directory, spool=spool, max_bytes=None)
        self._used: dict[Use, float] = {}
        self._read_log = RateLimitedLogger(log)
        self._write_log = RateLimitedLogger(log)

    def read(self, key: str) -> tuple[StoredResponse, ...]:
        """Evictable responses first, each kind newest first."""
        return self._read_from(self._responses, key) + self._read_from(self._pinned, key)

    def read_unwaiting(self, key: str) -> tuple[StoredResponse, ...]:
        """As `read`, but waits for no lock; () also when something is wrong, which `read` will deal with."""
        with suppress(*DISK_ERRORS):
            return self._responses.get_unwaiting(key) + self._pinned.get_unwaiting(key)
        return ()

    def lacks_unwaiting(self, key: str) -> bool:
        """Whether nothing is stored under a key; waits for no lock, and is False when something is wrong."""
        with suppress(*DISK_ERRORS):
            return self._responses.lacks_unwaiting(key) and self._pinned.lacks_unwaiting(key)
        return False

    def keys_with(self, part: str) -> set[str]:
        """The keys that contain a text. Raises one of DISK_ERRORS."""
        return self._responses.keys_with(part) | self._pinned.keys_with(part)

    def write(self, key: str, response: StoredResponse) -> bool:
        """Stores a response; returns whether it worked. If not, its spooled body is removed."""
        stored = False
        if not response.pinned and _length(response) > self._max_bytes:
            log.info("cache: response larger than the whole cache, not stored: %s", key)
        else:
            disk = self._pinned if response.pinned else self._responses
            if response.vary:
                self.mark_used()  # variants may be evicted, unused ones first
            stored = self._try(disk, lambda: disk.put(key, response))
        if not stored:
            self.throw_away(response)
        self._make_room()
        return stored

    def write_small(self, responses: Sequence[tuple[str, StoredResponse]]) -> bool:
        """Stores small evictable responses without `vary` in one commit; returns whether it worked."""
        stored = self._try(self._responses, lambda: self._responses.put_small(responses))
        self._make_room()
        return stored

    def remove(self, key: str) -> bool:
        return self._try(self._responses, lambda: self._responses.remove(key))

    def erase(self, key: str) -> bool:
        """Removes all variants, pinned or not, and their traces on disk; returns whether that succeeded."""
        done = [self._try(disk, partial(disk.erase, key)) for disk in (self._responses, self._pinned)]
        return all(done)

    def pin(self, key: str) -> bool:
        """Pins the stored responses; returns whether there were any and it worked."""
        return self._move(key, self._responses, self._pinned)

    def unpin(self, key: str) -> bool:
        """Makes pinned responses evictable; returns whether there were any and it worked."""
        moved = self._move(key, self._pinned, self._responses)
        self._make_room()
        return moved

    def note_use(self, key: str, vary: Headers | None = None) -> int:
        """Notes a use of a key, or of a variant of it; returns how many wait for `mark_used`. Does not block."""
        self._used[key, vary] = time.time()
        return len(self._used)

    def mark_used(self) -> None:
        """Writes the noted uses to disk, for eviction."""
        used: dict[Use, float] = {}
        with suppress(KeyError):
            while True:  # popitem is atomic: another thread may add notes meanwhile
                use, at = self._used.popitem()
                used[use] = at
        if used:
            self._try(self._responses, lambda: self._responses.mark_used(used))

    def throw_away(self, response: StoredResponse) -> None:
        """Removes the spooled body of a response that is not stored."""
        if isinstance(response.body, FileBody) and response.body.path.is_relative_to(self._spool):
            with suppress(OSError):
                response.body.path.unlink(missing_ok=True)

    def sweep(self, lock: DirectoryLock) -> None:
        """Cleans up after killed processes, then shares the directory."""
        before = lock.abandoned_before()
        try:
            sweep_spools(self._spool.parent, own=self._spool, before=before)
            removed = self._responses.sweep(before=before) + self._pinned.sweep(before=before)
            if removed:
                log.info("cache: removed %d bodies left by a killed process", removed)
        except DISK_ERRORS as error:
            self._write_log.warning("cache: clean-up failed: %s", error)
        self._make_room()  # the limit may have been lowered
        lock.share()

    def volume(self) -> int:
        return self._responses.volume() + self._pinned.volume()

    def count(self) -> int:
        return self._responses.count() + self._pinned.count()

    def close_connections(self) -> None:
        """Closes the calling thread's connections."""
        self._responses.close()
        self._pinned.close()

    def clear_spool(self) -> None:
        shutil.rmtree(self._spool, ignore_errors=True)

    def _read_from(self, disk: DiskStore, key: str) -> tuple[StoredResponse, ...]:
        generation = disk.generation
        try:
            return disk.get(key)
        except DISK_ERRORS as error:
            self._read_log.warning("cache: cannot read %s: %s", disk.directory, _describe(error))
            if is_damage(error):
                with suppress(sqlite3.Error):
                    disk.close()
                self._renew(disk, generation)
            return ()

    def _try(self, disk: DiskStore, change: Callable[[], object]) -> bool:
        """Makes a change; returns False when it failed or itself returned False."""
        generation = disk.generation
        try:
            return change() is not False
        except ValueError as error:
            log.warning("cache: response not stored, cannot serialise its headers: %s", error)
        except DISK_ERRORS as error:
            self._write_log.warning("cache: cannot write %s: %s", disk.directory, _describe(error))
            with suppress(sqlite3.Error):
                disk.close()  # ends a transaction that could not be committed
            if is_damage(error):
                self._renew(disk, generation)
        return False

    def _renew(self, disk: DiskStore, generation: int) -> None:
        try:
            disk.renew(generation)
        except DISK_ERRORS as error:
            self._write_log.warning("cache: cannot recreate %s: %s", disk.directory, _describe(error))

    def _make_room(self) -> None:
        def evict() -> None:
            if self._responses.over_limit():
                self.mark_used()
                self._responses.evict()

        self._try(self._responses, evict)

    def _move(self, key: str, source: DiskStore, target: DiskStore) -> bool:
        """Writes to `target` before it removes from `source`. Evictable responses are newer than pinned ones."""
        moving = self._read_from(source, key)
        kept = (
            {response.vary for response in self._read_from(target, key)}
            if target is self._responses
            else set()
        )
        for response in reversed(moving):
            if response.vary in kept:
                continue
            moved = replace(response, pinned=target is self._pinned)
            if not self._try(target, partial(target.put, key, moved)):
                return False
        return bool(moving) and self._try(source, lambda: source.remove(key))


def _length(response: StoredResponse) -> int:
    return response.body.size if isinstance(response.body, FileBody) else len(response.body)


def _describe(error: BaseException) -> str:
    """The text of an error; diskcache hides SQLite's error behind a bare Timeout."""
    cause = error.__context__ if isinstance(error, diskcache.Timeout) else None
    return str(cause or error) or type(error).__name__
