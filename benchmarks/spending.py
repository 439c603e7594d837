"""Measures repeated work by the clock and by processor time, and makes tables of it."""

import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from benchmarks.figures import Spread, markdown, quantile, spread


@dataclass(slots=True)
class Spending:
    """Seconds of each repetition; with `process` the processor time of all threads counts, not only of this one."""

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
    """One line of the table: p50 over the rounds, medians of the rest; `times` is the factor to each competitor."""

    name: str
    pages: int
    p50_ms: Spread
    p95_ms: float
    cpu_p50_ms: float
    cpu_p95_ms: float
    times: dict[str, Spread]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """Pages per second, by the clock and by the processor time of the whole process."""

    name: str
    pages: int
    a_second: Spread
    a_cpu_second: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """The disk space of a collection, and the peak memory of a process that opens it and ranks."""

    pages: int
    disk_mb: float
    memory_mb: float


def figure(
    name: str,
    rounds: Sequence[Spending],
    *,
    pages: int,
    against: Mapping[str, Sequence[Spending]] | None = None,
) -> Figure:
    def median_ms(spent: list[list[float]], part: float) -> float:
        return 1000 * statistics.median(quantile(each, part) for each in spent)

    wall, cpu = [each.wall_s for each in rounds], [each.cpu_s for each in rounds]
    return Figure(
        name=name,
        pages=pages,
        p50_ms=spread([1000 * quantile(each, 0.5) for each in wall]),
        p95_ms=median_ms(wall, 0.95),
        cpu_p50_ms=median_ms(cpu, 0.5),
        cpu_p95_ms=median_ms(cpu, 0.95),
        times={other: _times(rounds, theirs) for other, theirs in (against or {}).items()},
    )


def _times(rounds: Sequence[Spending], others: Sequence[Spending]) -> Spread:
    # By processor time: the sides alternate, but one may take a thousandth of the time.
    return spread([sum(other.cpu_s) / sum(own.cpu_s) for own, other in zip(rounds, others, strict=True)])


def rate(name: str, spending: Spending, pages: int) -> Rate:
    return Rate(
        name=name,
        pages=pages,
        a_second=spread([pages / each for each in spending.wall_s]),
        a_cpu_second=statistics.median(pages / each for each in spending.cpu_s),
    )


def table(told: Sequence[Figure], others: Sequence[str]) -> str:
    heads = (
        "what",
        "pages",
        "p50 (least - most)",
        "p95",
        "CPU p50 / p95",
        *(f"times {name}" for name in others),
    )
    rows = [
        (
            each.name,
            str(each.pages),
            f"{each.p50_ms} ms",
            f"{each.p95_ms:.2f} ms",
            f"{each.cpu_p50_ms:.2f} / {each.cpu_p95_ms:.2f} ms",
            *(str(each.times.get(name, "")) for name in others),
        )
        for each in told
    ]
    return markdown(heads, rows)


def rate_table(told: Sequence[Rate]) -> str:
    rows = [(each.name, str(each.pages), str(each.a_second), f"{each.a_cpu_second:.0f}") for each in told]
    return markdown(("indexing", "pages", "pages/s (least - most)", "pages per CPU second"), rows)


def taken_table(told: Sequence[Taken]) -> str:
    rows = [(str(each.pages), f"{each.disk_mb:.0f} MB", f"{each.memory_mb:.0f} MB") for each in told]
    return markdown(("pages", "on disk", "memory"), rows)
