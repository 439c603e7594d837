"""Reports of trials for people: one in full, one line while it runs, and several in a table."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

_SHOWN = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """The parameters of a trial. The seed decides on Squid and on clock jumps, unless they are given."""

    seed: int
    seconds: float
    squid: bool | None = None
    clock: bool | None = None


@dataclass(slots=True, kw_only=True)
class Report:
    trial: Trial
    surroundings: str = ""
    lasted_s: float = 0.0
    asked: Counter[str] = field(default_factory=Counter)
    answers: Counter[str] = field(default_factory=Counter)
    trouble: Counter[str] = field(default_factory=Counter)
    most: Counter[str] = field(default_factory=Counter)
    restarts: Counter[str] = field(default_factory=Counter)
    promised: Counter[str] = field(default_factory=Counter)
    complaints: list[str] = field(default_factory=list)
    more_complaints: int = 0

    @property
    def state(self) -> str:
        broken = len(self.complaints) + self.more_complaints
        return f"{broken} complaints" if broken else "no invariant broken"

    def line(self) -> str:
        """The progress of a trial in one line."""
        return (
            f"{self.lasted_s / 60:.1f} min: {self.asked.total()} asked ({_told(self.outcomes())}), "
            f"{self.trouble.total()} faults, {self.restarts.total()} processes begun, "
            f"{_told(self.promised)} promised, {self.state}"
        )

    def outcomes(self) -> Counter[str]:
        """The answers, counted in a few kinds."""
        few: Counter[str] = Counter()
        for kind, count in self.answers.items():
            few[_outcome(kind)] += count
        return few

    def __str__(self) -> str:
        lines = [f"seed {self.trial.seed}, {self.lasted_s:.0f} s, {self.surroundings}"]
        for name in ("asked", "answers", "trouble", "restarts"):
            counts: Counter[str] = getattr(self, name)
            lines.append(f"{name} ({counts.total()}): {_told(counts)}")
        lines += [f"most: {_told(self.most)}", f"promised: {_told(self.promised)}", self.state]
        lines += [f"BROKEN {complaint}" for complaint in self.complaints[:_SHOWN]]
        if (more := len(self.complaints) + self.more_complaints - _SHOWN) > 0:
            lines.append(f"... and {more} more")
        if self.complaints:
            minutes = self.trial.seconds / 60
            lines.append(f"again: python -m tests.chaos --seed {self.trial.seed} --minutes {minutes:g}")
        return "\n".join(lines)


def table(reports: Sequence[Report]) -> str:
    """All trials, one row each, and their faults by kind, as Markdown."""
    outcomes = [kind for kind, _ in _sum(report.outcomes() for report in reports).most_common()]
    heads = ["seed", "minutes", "with", "asked", *outcomes, "faults", "processes begun", "most MB", "broken"]
    rows = [heads, ["---"] * len(heads), *(_row(report, outcomes) for report in reports)]
    total = Report(trial=Trial(seed=0, seconds=0))
    for report in reports:
        total.lasted_s += report.lasted_s
        total.complaints += report.complaints
        total.more_complaints += report.more_complaints
        total.most |= report.most
    for name in ("asked", "answers", "trouble", "restarts"):
        setattr(total, name, _sum(getattr(report, name) for report in reports))
    rows.append(["all", *_row(total, outcomes)[1:]])
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([*lines, "", f"Faults by kind: {_told(total.trouble)}."])


def _row(report: Report, outcomes: Iterable[str]) -> list[str]:
    counts = report.outcomes()
    megabytes = [count for kind, count in report.most.items() if kind.endswith(": MB")]
    cells = [
        *(report.trial.seed, f"{report.lasted_s / 60:.1f}", report.surroundings, report.asked.total()),
        *(counts[kind] for kind in outcomes),
        *(report.trouble.total(), report.restarts.total(), max(megabytes, default=0)),
        len(report.complaints) + report.more_complaints,
    ]
    return [str(cell) for cell in cells]


def _outcome(kind: str) -> str:
    if "stale" in kind:
        return "honestly stale"
    if "right" in kind or kind in ("head", "loop", "echo"):
        return "right"
    if kind.startswith(("linkmend's", "blocked")):
        return "linkmend's page"
    return kind if kind in ("cut off", "given up") else "as bad as the site or Squid"


def _sum(counters: Iterable[Counter[str]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for counter in counters:
        total += counter
    return total


def _told(counts: Counter[str]) -> str:
    return ", ".join(f"{kind} {count}" for kind, count in counts.most_common())
