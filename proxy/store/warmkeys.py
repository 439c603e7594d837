"""Which keys are in the page cache of the system: they are read without a thread, which would cost more than reading.

A thread read or wrote them a moment ago. The index of all keys is there, too, if threads that looked for keys that
are not stored waited for no block of it several times in a row. Whether they are still there, the kernel tells
afterwards: it counts the blocks that a thread has waited for. The first read that had to wait ends the trust in all
keys, so that a machine with too little memory goes back to its threads after one block.
"""

import time
from collections.abc import Callable
from typing import TypeVar

from proxy.messages import StoredResponse
from proxy.store.diskstore import IN_ROW_BYTES
from repair.bounded import BoundedDict

try:
    from resource import RUSAGE_THREAD, getrusage
except ImportError:  # not on Linux: every read is left to a thread
    _COUNTS_BLOCKS = False
else:
    _COUNTS_BLOCKS = True

WARM_S = 300.0
_WARM_AT_MOST = 5000
_VARIANTS = 2
_LOOKS = 20
"""So many looks for absent keys in a row without waiting for the disk, and the index counts as warm."""

T = TypeVar("T")


class WarmKeys:
    """Only for the event loop's thread."""

    def __init__(self) -> None:
        self._until = BoundedDict[str, float](_WARM_AT_MOST)
        self._looks = 0

    def note(self, key: str, responses: tuple[StoredResponse, ...]) -> None:
        """A thread has just read or written this; only what is small counts."""
        if _COUNTS_BLOCKS and 0 < len(responses) <= _VARIANTS and all(map(is_in_row, responses)):
            self._until[key] = time.monotonic() + WARM_S

    def read(self, key: str, read: Callable[[str], tuple[StoredResponse, ...]]) -> tuple[StoredResponse, ...]:
        """What `read` finds for a key that is warm; () for another."""
        if self._until.get(key, 0.0) <= time.monotonic():
            return ()
        found, waited = with_waiting(read, key)
        if waited:
            self._until.clear()
        return found

    def note_absent(self, waited: bool) -> None:
        """A thread found nothing under a key, and had to wait for the disk or not."""
        self._looks = 0 if waited else self._looks + 1

    def is_absent(self, key: str, lacks: Callable[[str], bool]) -> bool:
        """Whether `lacks` says that nothing is stored under a key; False while the index of keys is not warm."""
        if not _COUNTS_BLOCKS or self._looks < _LOOKS:
            return False
        found, waited = with_waiting(lacks, key)
        if waited:
            self._looks = 0
        return found

    def forget(self, key: str) -> None:
        self._until.pop(key, None)


def is_in_row(response: StoredResponse) -> bool:
    """Whether a response needs no file beside its row."""
    return isinstance(response.body, bytes) and len(response.body) <= IN_ROW_BYTES


def with_waiting(read: Callable[[str], T], key: str) -> tuple[T, bool]:
    """What `read` finds, and whether this thread waited for the disk meanwhile."""
    before = _blocks_waited_for()
    return read(key), _blocks_waited_for() != before


def _blocks_waited_for() -> int:
    """By this thread, since it started."""
    return getrusage(RUSAGE_THREAD).ru_inblock if _COUNTS_BLOCKS else 0
