"""The two shelves of a store, evictable and pinned, and what is done when the disk fails. Blocking.

Trouble never reaches the reader of a page: what cannot be read is not there, what cannot be written is not stored,
and the log says so once a minute. A damaged database is set aside and begun anew.
"""

import logging
import shutil
import sqlite3
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import diskcache

from proxy.cache.entry import FileBody, Headers, StoredResponse
from proxy.store.complaints import Complaint
from proxy.store.shelf import Shelf, Use, is_damage
from proxy.store.tenancy import Tenancy, sweep_spools

log = logging.getLogger(__name__)

TROUBLE = (OSError, sqlite3.Error, diskcache.Timeout)
"""What a disk and a database on it can throw at us."""


class Shelves:
    """`read`, `volume` and `count` may run in several threads, all that writes in one."""

    def __init__(self, directory: Path, *, spool: Path, max_bytes: int) -> None:
        """Raises one of TROUBLE."""
        self._spool = spool
        self._max_bytes = max_bytes
        self._responses = Shelf(directory / "responses", root=directory, spool=spool, max_bytes=max_bytes)
        self._pinned = Shelf(directory / "pinned", root=directory, spool=spool, max_bytes=None)
        self._used: dict[Use, float] = {}
        self._complain_reading = Complaint(log)
        self._complain_writing = Complaint(log)

    def read(self, key: str) -> tuple[StoredResponse, ...]:
        """Evictable responses first, each kind newest first."""
        return self._read(self._responses, key) + self._read(self._pinned, key)

    def keys_with(self, part: str) -> set[str]:
        """The keys in which a text occurs. Raises one of TROUBLE."""
        return self._responses.keys_with(part) | self._pinned.keys_with(part)

    def write(self, key: str, response: StoredResponse) -> bool:
        """Whether it is stored now; if not, its spooled body is thrown away."""
        stored = False
        if not response.pinned and _length(response) > self._max_bytes:
            log.info("larger than the whole cache, not stored: %s", key)
        else:
            shelf = self._pinned if response.pinned else self._responses
            if response.vary:
                self.mark_used()  # variants may have to go, those not in use first
            stored = self._try(shelf, lambda: shelf.put(key, response))
        if not stored:
            self.throw_away(response)
        self._make_room()
        return stored

    def remove(self, key: str) -> bool:
        return self._try(self._responses, lambda: self._responses.remove(key))

    def erase(self, key: str) -> bool:
        """Removes what is held, pinned or not, so that nothing of it is left on disk; whether that succeeded."""
        done = [self._try(shelf, partial(shelf.erase, key)) for shelf in (self._responses, self._pinned)]
        return all(done)

    def pin(self, key: str) -> bool:
        """Whether there was something to pin, and it is pinned now."""
        return self._move(key, self._responses, self._pinned)

    def unpin(self, key: str) -> bool:
        """Whether there was something pinned, and it is evictable now, or gone for a newer one."""
        moved = self._move(key, self._pinned, self._responses)
        self._make_room()
        return moved

    def note_use(self, key: str, vary: Headers | None = None) -> int:
        """Remembers that a key, or a variant of it, was used just now; how many such notes wait for `mark_used`.

        Does not block.
        """
        self._used[key, vary] = time.time()
        return len(self._used)

    def mark_used(self) -> None:
        """Writes down what was noted, so that eviction knows."""
        used: dict[Use, float] = {}
        with suppress(KeyError):
            while True:  # popitem is atomic: notes may come in from another thread meanwhile
                use, at = self._used.popitem()
                used[use] = at
        if used:
            self._try(self._responses, lambda: self._responses.mark_used(used))

    def throw_away(self, response: StoredResponse) -> None:
        """Removes a body that was spooled for a response which is not stored after all."""
        if isinstance(response.body, FileBody) and response.body.path.is_relative_to(self._spool):
            with suppress(OSError):
                response.body.path.unlink(missing_ok=True)

    def sweep(self, tenancy: Tenancy) -> None:
        """Removes what killed processes left, then lets others in."""
        before = tenancy.abandoned_before()
        try:
            sweep_spools(self._spool.parent, own=self._spool, before=before)
            removed = self._responses.sweep(before=before) + self._pinned.sweep(before=before)
            if removed:
                log.info("removed %d bodies that a killed process had left", removed)
        except TROUBLE as error:
            self._complain_writing("the cache could not be swept: %s", error)
        self._make_room()  # the limit may have been lowered
        tenancy.share()

    def volume(self) -> int:
        return self._responses.volume() + self._pinned.volume()

    def count(self) -> int:
        return self._responses.count() + self._pinned.count()

    def close_connections(self) -> None:
        """Of the calling thread."""
        self._responses.close()
        self._pinned.close()

    def clear_spool(self) -> None:
        shutil.rmtree(self._spool, ignore_errors=True)

    def _read(self, shelf: Shelf, key: str) -> tuple[StoredResponse, ...]:
        generation = shelf.generation
        try:
            return shelf.get(key)
        except TROUBLE as error:
            self._complain_reading("cannot read from the cache in %s: %s", shelf.directory, _told(error))
            if is_damage(error):
                with suppress(sqlite3.Error):
                    shelf.close()
                self._renew(shelf, generation)
            return ()

    def _try(self, shelf: Shelf, change: Callable[[], object]) -> bool:
        """Whether the change was made; False also when it says so itself."""
        generation = shelf.generation
        try:
            return change() is not False
        except ValueError as error:
            log.warning("not stored, its headers cannot be written: %s", error)
        except TROUBLE as error:
            self._complain_writing("cannot write to the cache in %s: %s", shelf.directory, _told(error))
            with suppress(sqlite3.Error):
                shelf.close()  # ends a transaction that could not be committed
            if is_damage(error):
                self._renew(shelf, generation)
        return False

    def _renew(self, shelf: Shelf, generation: int) -> None:
        try:
            shelf.renew(generation)
        except TROUBLE as error:
            self._complain_writing("cannot begin %s anew: %s", shelf.directory, _told(error))

    def _make_room(self) -> None:
        def evict() -> None:
            if self._responses.over_limit():
                self.mark_used()
                self._responses.evict()

        self._try(self._responses, evict)

    def _move(self, key: str, source: Shelf, target: Shelf) -> bool:
        """Never in neither: written there before it is removed here. Evictable responses are the newer ones."""
        moving = self._read(source, key)
        kept = {response.vary for response in self._read(target, key)} if target is self._responses else set()
        for response in reversed(moving):
            if response.vary in kept:
                continue
            moved = replace(response, pinned=target is self._pinned)
            if not self._try(target, partial(target.put, key, moved)):
                return False
        return bool(moving) and self._try(source, lambda: source.remove(key))


def _length(response: StoredResponse) -> int:
    return response.body.size if isinstance(response.body, FileBody) else len(response.body)


def _told(error: BaseException) -> str:
    """diskcache hides what SQLite said behind a bare Timeout."""
    cause = error.__context__ if isinstance(error, diskcache.Timeout) else None
    return str(cause or error) or type(error).__name__
