"""Small responses on their way to disk: found here until they are written, a few milliseconds' worth in one commit.

A first visit then waits for no disk, and pays a part of a commit. What a `kill -9` takes away is fetched again.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from proxy.messages import StoredResponse
from proxy.store.memory import CachedEntry

GATHER_S = 0.02
GATHER_AT_MOST = 100


@dataclass(slots=True, kw_only=True, eq=False)
class UnwrittenResponse:
    """`written` is called when it is on disk, or could not be written."""

    key: str
    entry: CachedEntry
    written: Callable[[], None]

    @property
    def response(self) -> StoredResponse:
        return self.entry.responses[0]

    @property
    def size(self) -> int:
        """In memory, headers and all: nobody waits for it, and while a disk is slow even empty ones pile up."""
        return self.entry.cost


class UnwrittenResponses:
    """Gathers them, and hands them to `write` in the order they came. Only for the event loop's thread."""

    def __init__(self, write: Callable[[tuple[UnwrittenResponse, ...]], None]) -> None:
        self._write = write
        self._current: dict[str, UnwrittenResponse] = {}
        self._gathered: list[UnwrittenResponse] = []
        self._timer: asyncio.TimerHandle | None = None

    def add(self, unwritten: UnwrittenResponse) -> None:
        self._current[unwritten.key] = unwritten
        self._gathered.append(unwritten)
        if len(self._gathered) >= GATHER_AT_MOST:
            self.flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(GATHER_S, self.flush)

    def get(self, key: str) -> CachedEntry | None:
        """What is found under a key; None also when it changed since."""
        found = self._current.get(key)
        return None if found is None else found.entry

    def forget(self, key: str) -> None:
        """What is on disk, or about to be, is another's by now."""
        self._current.pop(key, None)

    def is_current(self, unwritten: UnwrittenResponse) -> bool:
        return self._current.get(unwritten.key) is unwritten

    def flush(self) -> None:
        """Hand over what has been gathered, now."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._gathered:
            gathered, self._gathered = tuple(self._gathered), []
            self._write(gathered)
