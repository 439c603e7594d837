"""The monitoring data of all processes: metrics, current misses, recent problems."""

import os
from datetime import UTC, datetime

from msgspec.structs import replace

from proxy.fetching.connectivity import Connectivity
from proxy.misses.feed import MissFeed
from proxy.misses.record import MissRecord
from proxy.monitoring.health import WorkerHealth
from proxy.monitoring.metrics import Metrics, MetricsSnapshot, merge_snapshots, resident_bytes
from proxy.monitoring.recentproblems import LoggedProblem, RecentProblems
from proxy.monitoring.traffic import TrafficHistory, TrafficHour


class MonitoringOverview:
    """Lives in the backend; workers in other processes send their counts."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.metrics = Metrics()
        self.missing_now = MissFeed()
        self.problems = RecentProblems()
        self.connectivity = Connectivity()
        self.started_at = datetime.now(UTC)
        self._traffic = TrafficHistory()
        self._workers: dict[str, tuple[int, MetricsSnapshot]] = {}
        self._gone = MetricsSnapshot()
        """The counts of workers that have ended."""

    def note_miss(self, record: MissRecord) -> None:
        """Called when a miss is recorded; never waits."""
        self.missing_now.note(record)
        self.metrics.repair_took(record.latency_ms)

    def report_internet(self, at: float, answered: bool) -> None:
        """A worker reports whether sites answer."""
        if answered:
            self.connectivity.note_answer(at)
        else:
            self.connectivity.note_silence(at)

    def report_metrics(
        self, worker: str, pid: int, snapshot: MetricsSnapshot, problems: tuple[LoggedProblem, ...] = ()
    ) -> None:
        """A worker reports what it counted since it began, and what it has logged of late."""
        for problem in problems:
            self.problems.add(replace(problem, source=f"{worker}: {problem.source}"))
        before = self._workers.get(worker)
        if before is not None and before[0] != pid:
            kept = replace(
                before[1],
                queues={},
                open_connections=0,
                resident_bytes=0,
                trusting={},
                refusing={},
                refused_hosts={},
            )
            self._gone = merge_snapshots((self._gone, kept))
        self._workers[worker] = (pid, snapshot)
        self._traffic.note(self.snapshot(), datetime.now(UTC))

    def snapshot(self) -> MetricsSnapshot:
        """The sum of the metrics of all processes."""
        counts = (snapshot for _, snapshot in self._workers.values())
        return merge_snapshots((self.metrics.snapshot(), self._gone, *counts))

    def traffic(self) -> tuple[TrafficHour, ...]:
        """The last 24 hours, the oldest first."""
        now = datetime.now(UTC)
        self._traffic.note(self.snapshot(), now)
        return self._traffic.hours(now)

    def processes(self) -> list[WorkerHealth]:
        own = WorkerHealth(name=self._name, pid=os.getpid(), resident_bytes=resident_bytes())
        workers = (
            WorkerHealth(name=name, pid=pid, resident_bytes=snapshot.resident_bytes)
            for name, (pid, snapshot) in sorted(self._workers.items())
        )
        return [own, *workers]
