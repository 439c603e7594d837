"""Cache invalidation between processes that share a store: after a change, no worker serves an old copy from memory.

All workers share a table of numbers in memory. A worker that changes a key writes a random number to the key's slot,
after the commit. A worker that caches a key notes the number first and then reads the disk. While the number is the
same, the cached copy is current. Two keys may share a slot: a change of one then makes the other be read again.
"""

import mmap
import secrets
from typing import Protocol

_PLACES = 1 << 16


class StoreInvalidation(Protocol):
    """How a store notes changes and checks for them."""

    def stamp(self, key: str) -> int: ...

    def note(self, key: str) -> None: ...


class LocalInvalidation:
    """For a process that alone changes the store."""

    def stamp(self, key: str) -> int:
        return 0

    def note(self, key: str) -> None:
        pass


class SharedInvalidation:
    """For processes forked from the one that creates it: they share the memory and Python's string hashes."""

    def __init__(self) -> None:
        self._numbers = memoryview(mmap.mmap(-1, 8 * _PLACES)).cast("Q")

    def stamp(self, key: str) -> int:
        return self._numbers[hash(key) % _PLACES]

    def note(self, key: str) -> None:
        self._numbers[hash(key) % _PLACES] = secrets.randbits(64)
