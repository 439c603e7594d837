"""Leases on origin fetches, shared by the workers of one machine: who fetches a URL, for all.

A table in shared memory has one place for many keys. A place that is taken for another key is nobody's lease: both
keys are then fetched as if there were one worker. Two workers that take a lease at the same instant both fetch; that
costs a fetch, and nothing else, so there are no locks.
"""

import mmap
from typing import Protocol

_PLACE_BITS = 16
_PLACES = 1 << _PLACE_BITS
_OWNER_BITS = 16
_KEY_BITS = 64 - _OWNER_BITS


class FetchLeases(Protocol):
    """The leases as one worker sees them."""

    def take(self, key: str) -> bool:
        """Whether this worker may fetch now; False: another one does."""
        ...

    def is_taken(self, key: str) -> bool:
        """Whether another worker fetches this now."""
        ...

    def free(self, key: str) -> None:
        """End this worker's own lease, if it has one."""
        ...

    def revoke(self, key: str) -> None:
        """End another worker's lease: it took too long."""
        ...


class NoLeases:
    """For a process that alone fetches."""

    def take(self, key: str) -> bool:
        return True

    def is_taken(self, key: str) -> bool:
        return False

    def free(self, key: str) -> None:
        pass

    def revoke(self, key: str) -> None:
        pass


class LeaseTable:
    """The memory; made before the workers are forked, so that they share it and Python's string hashes."""

    def __init__(self) -> None:
        self.places = memoryview(mmap.mmap(-1, 8 * _PLACES)).cast("Q")


class WorkerLeases:
    """The leases for the worker with this number, from 1 on. Those of the worker whose place it takes are void."""

    def __init__(self, table: LeaseTable, worker: int) -> None:
        if not 0 < worker < 1 << _OWNER_BITS:
            raise ValueError(f"not the number of a worker: {worker}")
        self._places = table.places
        self._owner = worker << _KEY_BITS
        for place in range(_PLACES):
            if self._places[place] >> _KEY_BITS == worker:
                self._places[place] = 0

    def take(self, key: str) -> bool:
        place, own, found = self._look(key)
        if found == 0:
            self._places[place] = own
        return not self._is_others(found, own)

    def is_taken(self, key: str) -> bool:
        _, own, found = self._look(key)
        return self._is_others(found, own)

    def free(self, key: str) -> None:
        place, own, found = self._look(key)
        if found == own:
            self._places[place] = 0

    def revoke(self, key: str) -> None:
        place, own, found = self._look(key)
        if self._is_others(found, own):
            self._places[place] = 0

    def _look(self, key: str) -> tuple[int, int, int]:
        """The key's place, what stands there under a lease of our own, and what stands there now."""
        place, own = self._of(key)
        return place, own, self._places[place]

    def _of(self, key: str) -> tuple[int, int]:
        number = hash(key) & (1 << 64) - 1
        return number % _PLACES, self._owner | number >> _PLACE_BITS

    @staticmethod
    def _is_others(found: int, own: int) -> bool:
        """Whether it is a lease for the same key, but not ours."""
        return found != own and found != 0 and (found ^ own) & (1 << _KEY_BITS) - 1 == 0
