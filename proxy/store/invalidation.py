"""Which keys have changed, told between processes that share a store: what one replaces, none serves from memory.

A table of numbers in memory that all workers have in common. Whoever changes a key puts a number of chance in its
place, after the change is committed; whoever keeps a key in memory notes the number first and then reads the disk.
As long as the number is the same, so is what was read. Two keys may share a place: one is then read once more.
"""

import mmap
import secrets
from typing import Protocol

_PLACES = 1 << 16


class Changes(Protocol):
    """What a store asks and tells."""

    def stamp(self, key: str) -> int: ...

    def note(self, key: str) -> None: ...


class OwnChanges:
    """For a process that is the only one to change the store."""

    def stamp(self, key: str) -> int:
        return 0

    def note(self, key: str) -> None:
        pass


class SharedChanges:
    """For processes forked from the one that makes it: they share the memory, and Python's hashes of text."""

    def __init__(self) -> None:
        self._numbers = memoryview(mmap.mmap(-1, 8 * _PLACES)).cast("Q")

    def stamp(self, key: str) -> int:
        return self._numbers[hash(key) % _PLACES]

    def note(self, key: str) -> None:
        self._numbers[hash(key) % _PLACES] = secrets.randbits(64)
