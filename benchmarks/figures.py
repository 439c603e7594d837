"""From measurements to results: quantiles, the spread over rounds, tables."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """The median over the rounds, with minimum and maximum."""

    median: float
    least: float
    most: float

    def __str__(self) -> str:
        return f"{short(self.median)} ({short(self.least)} - {short(self.most)})"


def spread(values: Sequence[float]) -> Spread:
    return Spread(median=statistics.median(values), least=min(values), most=max(values))


def ratios(above: Sequence[float], below: Sequence[float]) -> Spread:
    """Ratios round by round; 0 where the divisor is 0."""
    return spread([one / other if other else 0.0 for one, other in zip(above, below, strict=True)])


def quantile(values: Sequence[float], part: float) -> float:
    return sorted(values)[min(int(len(values) * part), len(values) - 1)] if values else 0.0


def short(value: float) -> str:
    """A number with few digits."""
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def format_errors(errors: dict[str, int]) -> str:
    return ", ".join(f"{count} {reason}" for reason, count in sorted(errors.items())) or "0"


def markdown(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table that can go into docs/performance.md as it is."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
