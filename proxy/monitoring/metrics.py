"""The metrics of the running linkmend: plain numbers, so that counting is cheap and processes can be added up.

Each process that serves users counts in a `Metrics`; its `snapshot()` is a value that can be sent to another
process, and `merge_snapshots()` adds several. Only the metrics endpoint turns one into Prometheus's text format.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from proxy.monitoring.trust import CertificateTrust

REPAIR_BOUNDS_MS = (5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
OUTCOMES = ("hit", "miss", "passed", "blocked", "error", "own")
"""Responses by source: the cache; a site, stored or storable; a site, bypassing the cache; a rule or a limit;
a failure; linkmend itself. Repaired ones are also counted by kind."""


class MetricsSnapshot(Struct, frozen=True, kw_only=True):
    """All numbers at one moment; sums over processes have the same form."""

    requests: dict[str, int] = {}
    repaired: dict[str, int] = {}
    portal_pages: dict[str, int] = {}
    """Pages of the portal by kind, and links in saved copies by what they were marked as."""
    cache_bytes: int = 0
    origin_bytes: int = 0
    repair_counts: list[int] = field(default_factory=lambda: [0] * (len(REPAIR_BOUNDS_MS) + 1))
    """Repairs by duration: up to each bound and no lower one, then those past the last."""
    repair_ms: float = 0.0
    collapsed_repairs: int = 0
    lost_records: int = 0
    queues: dict[str, int] = {}
    open_connections: int = 0
    resident_bytes: int = 0
    parent_down: int = 0
    """1 while the parent proxy does not answer."""
    trusting: dict[str, int] = {}
    """Devices (by their code of the day) that accepted our certificate, with how often."""
    refusing: dict[str, int] = {}
    """Devices on which a program refused it; some of them trust it in other programs."""
    refused_hosts: dict[str, int] = {}

    @property
    def hit_ratio(self) -> float | None:
        """The share of cacheable requests answered from the cache; None before the first request."""
        hits, misses = self.requests.get("hit", 0), self.requests.get("miss", 0)
        return hits / (hits + misses) if hits + misses else None


class Metrics:
    """The counters of one process. Callers add to the attributes; `gauges` are read for each snapshot."""

    __slots__ = (
        "_gauges",
        "_queues",
        "_repair_counts",
        "_repair_ms",
        "blocked",
        "cache_bytes",
        "error",
        "hit",
        "miss",
        "origin_bytes",
        "own",
        "passed",
        "portal_pages",
        "repaired",
        "trust",
    )

    def __init__(self) -> None:
        self.hit = self.miss = self.passed = self.blocked = self.error = self.own = 0
        self.cache_bytes = self.origin_bytes = 0
        self.repaired: dict[str, int] = {}
        self.portal_pages: dict[str, int] = {}
        self.trust = CertificateTrust()
        self._repair_counts = [0] * (len(REPAIR_BOUNDS_MS) + 1)
        self._repair_ms = 0.0
        self._gauges: dict[str, Callable[[], int]] = {}
        self._queues: dict[str, Callable[[], int]] = {}

    def count_portal(self, kind: str, times: int = 1) -> None:
        self.portal_pages[kind] = self.portal_pages.get(kind, 0) + times

    def repair_took(self, ms: float) -> None:
        self._repair_counts[bisect_left(REPAIR_BOUNDS_MS, ms)] += 1
        self._repair_ms += ms

    def watch(
        self,
        *,
        queues: Mapping[str, Callable[[], int]] | None = None,
        **numbers: Callable[[], int],
    ) -> None:
        """Register functions that return numbers which are looked up, not counted: by the name of their field."""
        self._queues.update(queues or {})
        self._gauges.update(numbers)

    def snapshot(self) -> MetricsSnapshot:
        trusting, refusing, refused_hosts = self.trust.counts()
        return MetricsSnapshot(
            requests={name: getattr(self, name) for name in OUTCOMES},
            repaired=dict(self.repaired),
            portal_pages=dict(self.portal_pages),
            cache_bytes=self.cache_bytes,
            origin_bytes=self.origin_bytes,
            repair_counts=list(self._repair_counts),
            repair_ms=self._repair_ms,
            queues={name: length() for name, length in self._queues.items()},
            resident_bytes=resident_bytes(),
            trusting=trusting,
            refusing=refusing,
            refused_hosts=refused_hosts,
            **{name: value() for name, value in self._gauges.items()},
        )


def merge_snapshots(snapshots: Iterable[MetricsSnapshot]) -> MetricsSnapshot:
    """The sum over several processes."""
    total: dict[str, Any] = {}
    for snapshot in snapshots:
        for name in snapshot.__struct_fields__:
            value = getattr(snapshot, name)
            total[name] = _sum(total[name], value) if name in total else value
    return MetricsSnapshot(**total)


def _sum(one: Any, other: Any) -> Any:
    if isinstance(one, dict):
        return {name: one.get(name, 0) + other.get(name, 0) for name in {**one, **other}}
    if isinstance(one, list):
        return [each + more for each, more in zip(one, other, strict=True)]
    return one + other


def resident_bytes() -> int:
    """Memory of this process; 0 where the system does not report it."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * 4096


def exposition(snapshot: MetricsSnapshot) -> bytes:
    """The numbers in Prometheus's text format."""
    registry = CollectorRegistry()
    registry.register(_Families(snapshot))
    return generate_latest(registry)


class _Families(Collector):
    def __init__(self, snapshot: MetricsSnapshot) -> None:
        self._snapshot = snapshot

    def collect(self) -> Iterable[Metric]:
        now = self._snapshot
        yield _add_labelled(
            CounterMetricFamily("linkmend_requests", "Responses by where they came from", labels=["outcome"]),
            now.requests,
        )
        yield _add_labelled(
            CounterMetricFamily("linkmend_repaired", "Repair pages by kind of dead link", labels=["kind"]),
            now.repaired,
        )
        yield _add_labelled(
            CounterMetricFamily(
                "linkmend_portal", "Pages of the portal, and links marked in saved copies", labels=["kind"]
            ),
            now.portal_pages,
        )
        sent = CounterMetricFamily(
            "linkmend_bytes", "Bytes of responses by where they came from", labels=["source"]
        )
        yield _add_labelled(sent, {"cache": now.cache_bytes, "origin": now.origin_bytes})
        yield _repairs(now)
        collapsed = "Repair pages made from the ranking for another reader of the same dead link"
        yield CounterMetricFamily("linkmend_repairs_collapsed", collapsed, value=now.collapsed_repairs)
        lost = "Dead link log entries lost"
        yield CounterMetricFamily("linkmend_lost_records", lost, value=now.lost_records)
        queues = GaugeMetricFamily("linkmend_queue_length", "Length of each queue", labels=["queue"])
        yield _add_labelled(queues, now.queues)
        connections = "Open client connections"
        yield GaugeMetricFamily("linkmend_open_connections", connections, value=now.open_connections)
        parent = "1 while the parent proxy does not answer, or is no proxy"
        yield GaugeMetricFamily("linkmend_parent_down", parent, value=now.parent_down)
        yield GaugeMetricFamily("linkmend_resident_bytes", "Memory in use", value=now.resident_bytes)


def _add_labelled(
    family: CounterMetricFamily | GaugeMetricFamily, values: Mapping[str, int]
) -> CounterMetricFamily | GaugeMetricFamily:
    for name, value in values.items():
        family.add_metric([name], value)
    return family


def _repairs(now: MetricsSnapshot) -> HistogramMetricFamily:
    """Prometheus wants seconds, and cumulative buckets."""
    buckets, total = [], 0
    for bound, count in zip(
        (*(str(ms / 1000) for ms in REPAIR_BOUNDS_MS), "+Inf"), now.repair_counts, strict=True
    ):
        total += count
        buckets.append((bound, total))
    return HistogramMetricFamily(
        "linkmend_repair_seconds",
        "Time to build a repair page",
        buckets=buckets,
        sum_value=now.repair_ms / 1000,
    )
