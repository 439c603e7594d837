"""Warnings and errors that differ only in an address, a name or a number, as one with a count (pure)."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from proxy.monitoring.recentproblems import LoggedProblem

_VARYING = re.compile(r"https?://\S+|'[^']*'|\"[^\"]*\"|\b[\w-]+(?:\.[\w-]+)+(?::\d+)?|\b[0-9a-f]{8,}\b|\d+")
_WORKER = re.compile(r"\Aworker \d+: ")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemGroup:
    """One kind of problem: the newest of its log lines, how many there were, and since when."""

    latest: LoggedProblem
    times: int
    first_at: datetime


def group_problems(newest_first: Iterable[LoggedProblem]) -> tuple[ProblemGroup, ...]:
    """The problems by kind, the one that occurred last first."""
    groups: dict[tuple[str, str, str], ProblemGroup] = {}
    for problem in newest_first:
        kind = (problem.level, _WORKER.sub("", problem.source), _VARYING.sub("…", problem.text))
        known = groups.get(kind)
        groups[kind] = (
            ProblemGroup(latest=problem, times=1, first_at=problem.at)
            if known is None
            else replace(known, times=known.times + 1, first_at=min(known.first_at, problem.at))
        )
    return tuple(groups.values())
