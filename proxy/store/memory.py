"""The most recently used small responses, in memory, up to a number of bytes."""

from collections import OrderedDict
from dataclasses import dataclass

from proxy.messages import FileBody, StoredResponse

_OVERHEAD_BYTES = 1024
"""Rough overhead of one response: tuples, strings and the entry itself."""
_LARGEST_PART = 16
"""No key may take more than this part of the limit, or one page would evict all others."""


@dataclass(slots=True, kw_only=True)
class CachedEntry:
    """The responses of one key; `stamp` tells whether they changed on disk.

    `prepared` is data that callers derive from them; it is dropped with the entry.
    """

    responses: tuple[StoredResponse, ...]
    cost: int
    stamp: int = 0
    prepared: object = None


class MemoryStore:
    """A least-recently-used cache. Only for the event loop's thread."""

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.used_bytes = 0
        self._held: OrderedDict[str, CachedEntry] = OrderedDict()

    def get(self, key: str) -> CachedEntry | None:
        held = self._held.get(key)
        if held is not None:
            self._held.move_to_end(key)
        return held

    def put(self, key: str, responses: tuple[StoredResponse, ...], *, stamp: int = 0) -> CachedEntry:
        """Keeps small responses; those with bodies on disk are read from there each time."""
        self.pop(key)
        cost = sum(cost_of(response) for response in responses)
        entry = CachedEntry(responses=responses, cost=cost, stamp=stamp)
        has_files = any(isinstance(response.body, FileBody) for response in responses)
        if has_files or cost > self.limit_bytes // _LARGEST_PART:
            return entry
        self._held[key] = entry
        self.used_bytes += cost
        while self.used_bytes > self.limit_bytes:
            _, freed = self._held.popitem(last=False)
            self.used_bytes -= freed.cost
        return entry

    def pop(self, key: str) -> None:
        held = self._held.pop(key, None)
        if held is not None:
            self.used_bytes -= held.cost

    def __len__(self) -> int:
        return len(self._held)


def cost_of(response: StoredResponse) -> int:
    """Roughly the bytes that a response takes in memory."""
    body = 0 if isinstance(response.body, FileBody) else len(response.body)
    fields = sum(len(name) + len(value) for name, value in (*response.headers, *response.vary))
    return body + 2 * fields + _OVERHEAD_BYTES  # `prepared` has the fields once more
