"""Alternates cases: each is measured for a while in every round, in reversed order every second time.

Results are ratios within a round, so that a slow moment of the machine affects both sides. A turn has two parts: many
connections at once, for requests per second and processor time; then one alone, for latency.
"""

import os
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from benchmarks.figures import Spread, format_errors, markdown, quantile, ratios, short, spread
from benchmarks.load import Load, Measured, measure_load
from benchmarks.processes import Program

_CALM_PART = 4
_WARM_S = 0.4
_REST_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One case, and the name of the case it is compared with: its own name if it is the reference."""

    name: str
    against: str
    program: Program
    load: Load
    cores: set[int]
    """Where the loads are; the programs have theirs."""
    busy: Callable[[Load], Measured] = measure_load
    """How many at once are asked."""
    calm: Callable[[Load], Measured] | None = measure_load
    """How one after the other are; None: the latencies are those of the many."""


@dataclass(slots=True, kw_only=True)
class _Tally:
    per_second: list[float] = field(default_factory=list)
    cpu_us: list[float] = field(default_factory=list)
    latencies_ms: list[float] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """The results of a case; `rounds` are the requests per second in each round.

    `cores` is how many the program kept busy: if far fewer than it may use, something else was the limit.
    """

    name: str
    against: str
    ratio: Spread
    rounds: list[float]
    per_second: Spread
    cpu_us: Spread
    cpu_ratio: Spread
    cores: float
    p50_ms: float
    p99_ms: float
    errors: dict[str, int]


def compare(cases: Sequence[Case], *, rounds: int, seconds: float) -> list[Line]:
    tallies = {case.name: _Tally() for case in cases}
    for case in cases:  # warm-up: fills the cache; the next turn reads it into memory
        for _ in range(2):
            os.sched_setaffinity(0, case.cores)
            measure_load(replace(case.load, seconds=_WARM_S, warm_up_s=0.0, salt="warm"))
    for turn in range(rounds):
        for case in cases if turn % 2 == 0 else reversed(cases):
            _add_turn(tallies[case.name], case, turn=turn, seconds=seconds)
        print(f"round {turn + 1} of {rounds} done", file=sys.stderr, flush=True)
    return [_line(case, tallies[case.name], tallies[case.against]) for case in cases]


def _add_turn(tally: _Tally, case: Case, *, turn: int, seconds: float) -> None:
    os.sched_setaffinity(0, case.cores)  # of this process, and so of the loads that it starts
    before_s = case.program.cpu_s()
    # Else pages stored in one turn would be hits in the next.
    busy = case.busy(replace(case.load, seconds=seconds, salt=f"busy{turn}-"))
    case.program.come_to_rest(at_most_s=_REST_S)
    tally.per_second.append(busy.per_second)
    tally.cpu_us.append((case.program.cpu_s() - before_s) / max(busy.asked, 1) * 1e6)
    tally.errors.update(busy.errors)
    if case.calm is None:
        tally.latencies_ms += busy.latencies_ms
        return
    calm = case.calm(
        replace(case.load, seconds=seconds / _CALM_PART, connections=1, clients=1, salt=f"calm{turn}-")
    )
    case.program.come_to_rest(at_most_s=_REST_S)
    tally.latencies_ms += calm.latencies_ms
    tally.errors.update(calm.errors)


def _line(case: Case, tally: _Tally, against: _Tally) -> Line:
    per_second, cpu_us = spread(tally.per_second), spread(tally.cpu_us)
    return Line(
        name=case.name,
        against=case.against,
        ratio=ratios(tally.per_second, against.per_second),
        rounds=tally.per_second,
        per_second=per_second,
        cpu_us=cpu_us,
        cpu_ratio=ratios(against.cpu_us, tally.cpu_us),
        cores=per_second.median * cpu_us.median / 1e6,
        p50_ms=quantile(tally.latencies_ms, 0.5),
        p99_ms=quantile(tally.latencies_ms, 0.99),
        errors=dict(tally.errors),
    )


def speed_table(told: Sequence[Line]) -> str:
    heads = (
        "case",
        "ratio (least - most)",
        "requests/s",
        "CPU a request",
        "ratio by CPU",
        "cores",
        "p50 / p99",
        "errors",
    )
    rows = [
        (
            line.name,
            str(line.ratio),
            f"{line.per_second.median:.0f}",
            f"{line.cpu_us.median:.0f} us",
            short(line.cpu_ratio.median),
            f"{line.cores:.2f}",
            f"{line.p50_ms:.2f} / {line.p99_ms:.2f} ms",
            format_errors(line.errors),
        )
        for line in told
    ]
    return markdown(heads, rows)
