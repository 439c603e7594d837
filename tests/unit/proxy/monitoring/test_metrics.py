"""Counting, adding up, and the Prometheus format."""

import msgspec
from prometheus_client.parser import text_string_to_metric_families

from proxy.monitoring.metrics import Metrics, MetricsSnapshot, exposition, merge_snapshots


def samples(snapshot):
    """The samples that Prometheus reads: by name and labels."""
    text = exposition(snapshot).decode()
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_snapshot_contains_the_counts():
    metrics = Metrics()
    metrics.hit += 3
    metrics.cache_bytes += 1000
    metrics.repaired["gone"] = 2
    snapshot = metrics.snapshot()
    assert snapshot.requests == {"hit": 3, "miss": 0, "passed": 0, "blocked": 0, "error": 0, "own": 0}
    assert (snapshot.cache_bytes, snapshot.repaired) == (1000, {"gone": 2})
    assert snapshot.resident_bytes > 1_000_000


def test_a_snapshot_does_not_change_afterwards():
    metrics = Metrics()
    snapshot = metrics.snapshot()
    metrics.hit += 1
    metrics.repair_took(3)
    metrics.repaired["gone"] = 1
    assert snapshot.requests["hit"] == 0
    assert sum(snapshot.repair_counts) == 0
    assert snapshot.repaired == {}


def test_gauges_are_read_at_snapshot_time():
    waiting = [5]
    metrics = Metrics()
    metrics.watch(queues={"harvest": lambda: waiting[0]}, lost_records=lambda: 7, open_connections=lambda: 9)
    waiting[0] = 6
    snapshot = metrics.snapshot()
    assert (snapshot.queues, snapshot.lost_records, snapshot.open_connections) == ({"harvest": 6}, 7, 9)


def test_processes_are_added_up():
    one = MetricsSnapshot(requests={"hit": 1}, repaired={"gone": 1}, repair_counts=[1] * 11, repair_ms=10.0)
    other = MetricsSnapshot(requests={"hit": 2, "miss": 3}, repair_counts=[2] * 11, queues={"fetch": 4})
    total = merge_snapshots([one, other])
    assert total.requests == {"hit": 3, "miss": 3}
    assert (total.repaired, total.queues, total.repair_ms) == ({"gone": 1}, {"fetch": 4}, 10.0)
    assert total.repair_counts == [3] * 11
    assert merge_snapshots([]) == MetricsSnapshot()


def test_a_snapshot_can_be_sent_to_another_process():
    metrics = Metrics()
    metrics.hit += 1
    snapshot = metrics.snapshot()
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(snapshot), type=MetricsSnapshot) == snapshot


def test_hit_ratio_counts_cacheable_requests_only():
    assert MetricsSnapshot().hit_ratio is None
    assert MetricsSnapshot(requests={"hit": 3, "miss": 1, "passed": 96}).hit_ratio == 0.75


def test_prometheus_reads_the_counters():
    read = samples(
        MetricsSnapshot(
            requests={"hit": 3},
            repaired={"gone": 2},
            cache_bytes=10,
            queues={"fetch": 4},
            collapsed_repairs=29,
        )
    )
    assert read["linkmend_repairs_collapsed_total",] == 29
    assert read["linkmend_requests_total", "hit"] == 3
    assert read["linkmend_repaired_total", "gone"] == 2
    assert read["linkmend_bytes_total", "cache"] == 10
    assert read["linkmend_queue_length", "fetch"] == 4


def test_prometheus_reads_how_long_repairs_took():
    metrics = Metrics()
    for ms in (4, 5, 6, 1500, 60_000):
        metrics.repair_took(ms)
    read = samples(metrics.snapshot())
    assert read["linkmend_repair_seconds_bucket", "0.005"] == 2
    assert read["linkmend_repair_seconds_bucket", "0.01"] == 3
    assert read["linkmend_repair_seconds_bucket", "2.0"] == 4
    assert read["linkmend_repair_seconds_bucket", "+Inf"] == 5
    assert read["linkmend_repair_seconds_count",] == 5
    assert round(read["linkmend_repair_seconds_sum",], 3) == 61.515
