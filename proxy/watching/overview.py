"""What is known of linkmend while it runs: figures of all its processes, misses of this moment, recent problems."""

import os
from datetime import UTC, datetime

from msgspec.structs import replace

from proxy.desk.health import Worker
from proxy.desk.missing import MissingNow
from proxy.fetching.line import Line
from proxy.misses.record import MissRecord
from proxy.watching.metrics import Metrics, Snapshot, merged, resident_bytes
from proxy.watching.recent import Logged, RecentProblems


class Watching:
    """Kept where the stores are; workers in other processes tell what they counted."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.metrics = Metrics()
        self.missing_now = MissingNow()
        self.problems = RecentProblems()
        self.line = Line()
        self.started_at = datetime.now(UTC)
        self._workers: dict[str, tuple[int, Snapshot]] = {}
        self._gone = Snapshot()
        """What workers counted that are no more."""

    def note_miss(self, record: MissRecord) -> None:
        """Called as a miss is recorded: never waits."""
        self.missing_now.note(record)
        self.metrics.repair_took(record.latency_ms)

    def counted(self, worker: str, pid: int, snapshot: Snapshot, problems: tuple[Logged, ...] = ()) -> None:
        """A worker tells what it counted since it began, and what it has logged of late."""
        for problem in problems:
            self.problems.hear(replace(problem, source=f"{worker}: {problem.source}"))
        before = self._workers.get(worker)
        if before is not None and before[0] != pid:
            kept = replace(before[1], queues={}, open_connections=0, resident_bytes=0)
            self._gone = merged((self._gone, kept))
        self._workers[worker] = (pid, snapshot)

    def snapshot(self) -> Snapshot:
        """The figures of all processes together."""
        told = (snapshot for _, snapshot in self._workers.values())
        return merged((self.metrics.snapshot(), self._gone, *told))

    def processes(self) -> list[Worker]:
        own = Worker(name=self._name, pid=os.getpid(), resident_bytes=resident_bytes())
        workers = (
            Worker(name=name, pid=pid, resident_bytes=snapshot.resident_bytes)
            for name, (pid, snapshot) in sorted(self._workers.items())
        )
        return [own, *workers]
