"""Rate limits of logins: one token bucket for each client and one for all unknown clients (pure).

A class of students behind thirty addresses must neither guess the password nor, by trying, lock the admin out. So
each client has its own bucket, and all unknown clients share one more. A client that logged in before, or that runs
on the machine itself, does not draw from the shared bucket.
"""

from dataclasses import dataclass

from repair.bounded import BoundedDict

_AT_MOST = 5_000


@dataclass(slots=True)
class _Bucket:
    left: float
    at: float


class TokenBucket:
    """At most `size` at once, and one more every `every_s`."""

    def __init__(self, size: int, every_s: float) -> None:
        self._size, self._every_s = size, every_s
        self._buckets = BoundedDict[str, _Bucket](_AT_MOST)

    def wait_s(self, key: str, now: float) -> float:
        """The seconds until one may be taken; 0 when one may be taken now."""
        left = self._available(key, now)
        return 0.0 if left >= 1 else (1 - left) * self._every_s

    def take(self, key: str, now: float) -> None:
        self._buckets[key] = _Bucket(self._available(key, now) - 1, now)

    def forget(self, key: str) -> None:
        self._buckets.pop(key, None)

    def _available(self, key: str, now: float) -> float:
        bucket = self._buckets.get(key)
        if bucket is None:
            return float(self._size)
        return min(float(self._size), bucket.left + (now - bucket.at) / self._every_s)


class LoginLimits:
    """Each client: five tries, then one every 30 s. All unknown clients together: fifty, then one every 10 s."""

    def __init__(self) -> None:
        self._each = TokenBucket(5, 30.0)
        self._strangers = TokenBucket(50, 10.0)

    def wait_s(self, client: str, *, known: bool, now: float) -> float:
        """The seconds this client must wait before we check its password; counts a try when it returns 0."""
        wait = self._each.wait_s(client, now)
        if not known:
            wait = max(wait, self._strangers.wait_s("", now))
        if wait == 0:
            self._each.take(client, now)
            if not known:
                self._strangers.take("", now)
        return wait

    def forget_failures(self, client: str) -> None:
        """Forget the earlier tries of this client."""
        self._each.forget(client)
