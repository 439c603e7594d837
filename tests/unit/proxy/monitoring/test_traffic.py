from datetime import UTC, datetime, timedelta

from proxy.monitoring.metrics import MetricsSnapshot
from proxy.monitoring.traffic import HOURS, TrafficHistory

NOON = datetime(2026, 5, 3, 12, tzinfo=UTC)


def counted(hit=0, miss=0, **more):
    return MetricsSnapshot(
        requests={"hit": hit, "miss": miss, **more}, cache_bytes=10 * hit, origin_bytes=20 * miss
    )


def test_each_hour_has_what_was_counted_in_it():
    history = TrafficHistory()
    history.note(counted(hit=3, miss=1), NOON + timedelta(minutes=10))
    history.note(counted(hit=5, miss=1, error=1), NOON + timedelta(minutes=50))
    history.note(counted(hit=5, miss=8, error=1, passed=2), NOON + timedelta(minutes=70))
    noon, one = history.hours(NOON + timedelta(hours=1))[-2:]
    assert (noon.from_cache, noon.from_sites, noon.failed) == (5, 1, 1)
    assert (one.from_cache, one.from_sites, one.failed) == (0, 9, 0)
    assert (noon.cache_bytes, one.origin_bytes) == (50, 140)


def test_hours_without_traffic_are_empty_and_a_day_is_remembered():
    history = TrafficHistory()
    for hour in range(3 * HOURS):
        history.note(counted(hit=hour + 1), NOON + timedelta(hours=hour))
    later = NOON + timedelta(hours=3 * HOURS + 1)
    hours = history.hours(later)
    assert len(hours) == HOURS
    assert [hour.from_cache for hour in hours] == [1] * (HOURS - 2) + [0, 0]
    assert hours[-1].at == later


def test_counters_that_shrink_take_nothing_away():
    history = TrafficHistory()
    history.note(counted(hit=9), NOON)
    history.note(counted(hit=2), NOON)
    assert history.hours(NOON)[-1].from_cache == 9
