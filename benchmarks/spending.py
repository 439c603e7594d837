"""Time spent on one thing many times over, by the clock and by the processor, and what is told of it."""

import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(slots=True)
class Spending:
    """Seconds of every single time; with `process` the processor time of all threads counts, not only of ours."""

    process: bool = False
    wall_s: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)

    @contextmanager
    def one(self) -> Iterator[None]:
        clock = time.process_time if self.process else time.thread_time
        wall_s, cpu_s = time.perf_counter(), clock()
        yield
        self.cpu_s.append(clock() - cpu_s)
        self.wall_s.append(time.perf_counter() - wall_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One line of the table: medians over the rounds; `ratio` is how many times faster than the reference."""

    name: str
    pages: int
    p50_ms: float
    p95_ms: float
    cpu_p50_ms: float
    cpu_p95_ms: float
    p50_least_ms: float
    p50_most_ms: float
    ratio: float | None = None
    ratio_least: float | None = None
    ratio_most: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """Pages a second, by the clock and by the processor time of the whole process."""

    name: str
    pages: int
    a_second: float
    least: float
    most: float
    a_cpu_second: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What a collection takes on disk, and what a process holds at most that opens it and ranks."""

    pages: int
    disk_mb: float
    memory_mb: float


def figure(
    name: str, rounds: Sequence[Spending], *, pages: int, against: Sequence[Spending] | None = None
) -> Figure:
    p50 = [1000 * _quantile(each.wall_s, 0.5) for each in rounds]
    # By processor time: both sides of a ratio are measured in turns, but one side takes a thousandth of the time.
    ratios = [sum(other.cpu_s) / sum(own.cpu_s) for own, other in zip(rounds, against or (), strict=False)]
    return Figure(
        name=name,
        pages=pages,
        p50_ms=statistics.median(p50),
        p95_ms=1000 * statistics.median(_quantile(each.wall_s, 0.95) for each in rounds),
        cpu_p50_ms=1000 * statistics.median(_quantile(each.cpu_s, 0.5) for each in rounds),
        cpu_p95_ms=1000 * statistics.median(_quantile(each.cpu_s, 0.95) for each in rounds),
        p50_least_ms=min(p50),
        p50_most_ms=max(p50),
        ratio=statistics.median(ratios) if ratios else None,
        ratio_least=min(ratios) if ratios else None,
        ratio_most=max(ratios) if ratios else None,
    )


def rate(name: str, spending: Spending, pages: int) -> Rate:
    rates = [pages / each for each in spending.wall_s]
    return Rate(
        name=name,
        pages=pages,
        a_second=statistics.median(rates),
        least=min(rates),
        most=max(rates),
        a_cpu_second=statistics.median(pages / each for each in spending.cpu_s),
    )


def _quantile(values: Sequence[float], part: float) -> float:
    return sorted(values)[min(int(len(values) * part), len(values) - 1)]


def table(told: Sequence[Figure]) -> str:
    """Markdown, so that it can go into docs/performance.md as it is."""
    lines = [
        "| what | pages | p50 / p95 | p50 least - most | CPU p50 / p95 | times rank-bm25 (least - most) |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {each.name} | {each.pages} | {each.p50_ms:.2f} / {each.p95_ms:.2f} ms "
        f"| {each.p50_least_ms:.2f} - {each.p50_most_ms:.2f} ms "
        f"| {each.cpu_p50_ms:.2f} / {each.cpu_p95_ms:.2f} ms | {_ratio(each)} |"
        for each in told
    ]
    return "\n".join(lines)


def _ratio(told: Figure) -> str:
    if told.ratio is None or told.ratio_least is None or told.ratio_most is None:
        return ""
    return f"{told.ratio:.0f} ({told.ratio_least:.0f} - {told.ratio_most:.0f})"


def rate_table(told: Sequence[Rate]) -> str:
    lines = ["| indexing | pages | pages/s (least - most) | pages per CPU second |", "|---|---|---|---|"]
    lines += [
        f"| {each.name} | {each.pages} | {each.a_second:.0f} ({each.least:.0f} - {each.most:.0f}) "
        f"| {each.a_cpu_second:.0f} |"
        for each in told
    ]
    return "\n".join(lines)


def taken_table(told: Sequence[Taken]) -> str:
    lines = ["| pages | on disk | memory |", "|---|---|---|"]
    lines += [f"| {each.pages} | {each.disk_mb:.0f} MB | {each.memory_mb:.0f} MB |" for each in told]
    return "\n".join(lines)
