"""From what was measured to what is told: ratios within a round, quantiles, and a table of them."""

import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """The median of what the rounds gave, with the least and the most."""

    median: float
    least: float
    most: float

    def __str__(self) -> str:
        return f"{_short(self.median)} ({_short(self.least)} - {_short(self.most)})"


def spread(values: Sequence[float]) -> Spread:
    return Spread(median=statistics.median(values), least=min(values), most=max(values))


def _short(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


@dataclass(slots=True, kw_only=True)
class Tally:
    """What was measured of one case, a value a round; latencies of all rounds together."""

    per_second: list[float] = field(default_factory=list)
    cpu_us: list[float] = field(default_factory=list)
    latencies_ms: list[float] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """One line of the table. Ratios are to the first case in the same round; latencies are what the proxy adds."""

    name: str
    per_second: float
    ratio: float
    ratio_least: float
    ratio_most: float
    cpu_us: float
    cpu_ratio: float
    added_p50_ms: float
    added_p99_ms: float
    errors: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """What one large download cost above what the proxy held just before."""

    name: str
    seconds: float
    before_mb: float
    peak_mb: float
    errors: dict[str, int]


def figures(name: str, tally: Tally, stock: Tally, direct_ms: Sequence[float]) -> Figures:
    ratios = _ratios(tally.per_second, stock.per_second)
    return Figures(
        name=name,
        per_second=statistics.median(tally.per_second),
        ratio=statistics.median(ratios),
        ratio_least=min(ratios),
        ratio_most=max(ratios),
        cpu_us=statistics.median(tally.cpu_us),
        cpu_ratio=statistics.median(_ratios(stock.cpu_us, tally.cpu_us)),
        added_p50_ms=quantile(tally.latencies_ms, 0.5) - quantile(direct_ms, 0.5),
        added_p99_ms=quantile(tally.latencies_ms, 0.99) - quantile(direct_ms, 0.99),
        errors=dict(tally.errors),
    )


def _ratios(above: Sequence[float], below: Sequence[float]) -> list[float]:
    """Round by round; 0 where there is nothing to divide by."""
    return [one / other if other else 0.0 for one, other in zip(above, below, strict=True)]


def quantile(values: Sequence[float], part: float) -> float:
    return sorted(values)[min(int(len(values) * part), len(values) - 1)] if values else 0.0


def speed_table(told: Sequence[Figures]) -> str:
    """Markdown, so that it can go into docs/performance.md as it is."""
    lines = [
        "| case | ratio (least - most) | requests/s | CPU a request | ratio by CPU | added p50 / p99 | errors |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {line.name} | {line.ratio:.2f} ({line.ratio_least:.2f} - {line.ratio_most:.2f}) "
        f"| {line.per_second:.0f} | {line.cpu_us:.0f} us | {line.cpu_ratio:.2f} "
        f"| {line.added_p50_ms:.2f} / {line.added_p99_ms:.2f} ms | {written(line.errors)} |"
        for line in told
    ]
    return "\n".join(lines)


def memory_table(told: Sequence[Memory]) -> str:
    lines = ["| 300 MB | before | peak | more | seconds | errors |", "|---|---|---|---|---|---|"]
    lines += [
        f"| {line.name} | {line.before_mb:.0f} MB | {line.peak_mb:.0f} MB "
        f"| {line.peak_mb - line.before_mb:.0f} MB | {line.seconds:.1f} | {written(line.errors)} |"
        for line in told
    ]
    return "\n".join(lines)


def written(errors: dict[str, int]) -> str:
    return ", ".join(f"{count} {reason}" for reason, count in sorted(errors.items())) or "0"


def markdown(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table that can go into docs/performance.md as it is."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
