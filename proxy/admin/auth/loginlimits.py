"""How often a password may be tried: buckets that fill with time, one for each client and one for all (pure).

A class of students behind thirty addresses must neither guess the password nor, by trying, keep the admin out. So
each client has a bucket of its own, strangers together have one more, and who was let in before or sits at the
machine itself does not draw from the strangers'.
"""

from collections import OrderedDict
from dataclasses import dataclass

_AT_MOST = 5_000


@dataclass(slots=True)
class _Bucket:
    left: float
    at: float


class Bucket:
    """At most `size` at once, and one more every `every_s`."""

    def __init__(self, size: int, every_s: float) -> None:
        self._size, self._every_s = size, every_s
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def wait_s(self, key: str, now: float) -> float:
        """How long until one may be taken; 0 when it may be at once."""
        left = self._left(key, now)
        return 0.0 if left >= 1 else (1 - left) * self._every_s

    def take(self, key: str, now: float) -> None:
        self._buckets[key] = _Bucket(self._left(key, now) - 1, now)
        self._buckets.move_to_end(key)
        if len(self._buckets) > _AT_MOST:
            self._buckets.popitem(last=False)

    def forget(self, key: str) -> None:
        self._buckets.pop(key, None)

    def _left(self, key: str, now: float) -> float:
        bucket = self._buckets.get(key)
        if bucket is None:
            return float(self._size)
        return min(float(self._size), bucket.left + (now - bucket.at) / self._every_s)


class LoginLimits:
    """Each client: five tries, then one every 30 s. All strangers together: fifty, then one every 10 s."""

    def __init__(self) -> None:
        self._each = Bucket(5, 30.0)
        self._strangers = Bucket(50, 10.0)

    def wait_s(self, client: str, *, known: bool, now: float) -> float:
        """How long this client must wait before the password it sends is looked at; a try is counted when 0."""
        wait = self._each.wait_s(client, now)
        if not known:
            wait = max(wait, self._strangers.wait_s("", now))
        if wait == 0:
            self._each.take(client, now)
            if not known:
                self._strangers.take("", now)
        return wait

    def succeeded(self, client: str) -> None:
        """What was tried before does not count any more."""
        self._each.forget(client)
