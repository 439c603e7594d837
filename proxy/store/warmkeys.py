"""Which keys are in the page cache of the system: they are read without a thread, which would cost more than reading.

A thread read or wrote them a moment ago. Whether they are still there, the kernel tells afterwards: it counts the
blocks that a thread has waited for. The first read that had to wait ends the trust in all keys, so that a machine
with too little memory goes back to its threads after one block.
"""

import time
from collections.abc import Callable

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


class WarmKeys:
    """Only for the event loop's thread."""

    def __init__(self) -> None:
        self._until = BoundedDict[str, float](_WARM_AT_MOST)

    def note(self, key: str, responses: tuple[StoredResponse, ...]) -> None:
        """A thread has just read or written this; only what is small counts."""
        if _COUNTS_BLOCKS and 0 < len(responses) <= _VARIANTS and all(map(_is_in_row, responses)):
            self._until[key] = time.monotonic() + WARM_S

    def read(self, key: str, read: Callable[[str], tuple[StoredResponse, ...]]) -> tuple[StoredResponse, ...]:
        """What `read` finds for a key that is warm; () for another."""
        if self._until.get(key, 0.0) <= time.monotonic():
            return ()
        before = _blocks_waited_for()
        found = read(key)
        if _blocks_waited_for() != before:
            self._until.clear()
        return found

    def forget(self, key: str) -> None:
        self._until.pop(key, None)


def _is_in_row(response: StoredResponse) -> bool:
    return isinstance(response.body, bytes) and len(response.body) <= IN_ROW_BYTES


def _blocks_waited_for() -> int:
    """By this thread, since it started."""
    return getrusage(RUSAGE_THREAD).ru_inblock
