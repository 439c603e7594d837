"""Memories with an end: dicts of at most so many entries.

Reading costs what it costs in a plain dict. Threads may share both under the interpreter's lock, as long as keys are
compared without Python code (strings, bytes, tuples of them).
"""

from collections import OrderedDict
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class BoundedDict(OrderedDict[K, V]):
    """The newest `limit` entries. Writing makes an entry the newest; for reading to do so, call `move_to_end`."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self._limit = limit

    def __setitem__(self, key: K, value: V) -> None:
        self.pop(key, None)
        super().__setitem__(key, value)
        if len(self) > self._limit:
            self.popitem(last=False)

    def keep(self, key: K, value: V) -> V:
        """Write an entry and return its value."""
        self[key] = value
        return value


class MemoDict(dict[K, V]):
    """What was worked out before; emptied when `limit` is reached.

    To put out the oldest instead makes each miss dearer: terms of texts with many rare words took 15 % longer.
    """

    def __init__(self, limit: int) -> None:
        super().__init__()
        self._limit = limit

    def keep(self, key: K, value: V) -> V:
        """Remember and return a value."""
        if len(self) >= self._limit:
            self.clear()
        self[key] = value
        return value
