"""The traffic of the last day by the hour, from counters that only grow (pure)."""

from collections import deque
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from proxy.monitoring.metrics import MetricsSnapshot

HOURS = 24


@dataclass(slots=True, kw_only=True)
class TrafficHour:
    """What was answered in one hour: by the cache, by sites, with an error page or a refusal; and the bytes."""

    at: datetime
    from_cache: int = 0
    from_sites: int = 0
    failed: int = 0
    cache_bytes: int = 0
    origin_bytes: int = 0


@dataclass(slots=True)
class TrafficHistory:
    """Adds up, hour by hour, what each new snapshot has more than the one before."""

    _hours: deque[TrafficHour] = field(default_factory=lambda: deque(maxlen=HOURS))
    _last: MetricsSnapshot = field(default_factory=MetricsSnapshot)

    def note(self, snapshot: MetricsSnapshot, now: datetime) -> None:
        """Take in the counts of this moment; what came since the last call belongs to the hour of `now`."""
        hour, last = self._hour_of(now), self._last
        hour.from_cache += _grown("hit", snapshot, last)
        hour.from_sites += _grown("miss", snapshot, last) + _grown("passed", snapshot, last)
        hour.failed += _grown("error", snapshot, last) + _grown("blocked", snapshot, last)
        hour.cache_bytes += max(0, snapshot.cache_bytes - last.cache_bytes)
        hour.origin_bytes += max(0, snapshot.origin_bytes - last.origin_bytes)
        self._last = snapshot

    def hours(self, now: datetime) -> tuple[TrafficHour, ...]:
        """The last 24 hours, the oldest first; hours without traffic are there too."""
        known = {hour.at: hour for hour in self._hours}
        begins = (_begin(now) - timedelta(hours=ago) for ago in reversed(range(HOURS)))
        return tuple(known.get(at, TrafficHour(at=at)) for at in begins)

    def _hour_of(self, now: datetime) -> TrafficHour:
        at = _begin(now)
        if not self._hours or self._hours[-1].at != at:
            self._hours.append(TrafficHour(at=at))
        return self._hours[-1]


def _begin(moment: datetime) -> datetime:
    return moment.replace(minute=0, second=0, microsecond=0)


def _grown(outcome: str, now: MetricsSnapshot, before: MetricsSnapshot) -> int:
    return max(0, now.requests.get(outcome, 0) - before.requests.get(outcome, 0))
