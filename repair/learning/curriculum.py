"""Lessons: what a collection folder can teach, each a way of breaking its links, in due proportion."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from repair.errors import EvaluationFailed
from repair.learn.examples import Examples
from repair.simulate import Plan, Variant, cases

LEAST_LINKS = 8
"""With fewer links that have an answer among their candidates neither half of them would tell anything."""
# Which share of the links is broken how; `copied` lessons know an older version of the lost page.
_SHARES = (
    (Variant.KEPT, False, 0.6),
    (Variant.MOVED, False, 1.0),
    (Variant.RENAMED, False, 0.75),
    (Variant.GONE, False, 0.75),
    (Variant.MOVED, True, 0.35),
    (Variant.RENAMED, True, 0.25),
)
_REALLY_MOVED = 1.2
# Small collections: a part of the pages, as a school has in its first weeks.
_PARTS = ((Variant.MOVED, (0, 24)), (Variant.KEPT, (1, 100)))
_PART_LIMIT = 200
_LEAST_IN_PART = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """Links to learn from; with `copied` an older version of every lost page is known."""

    plan: Plan
    copied: bool = False

    @property
    def title(self) -> str:
        """What it is about, without the folder."""
        part = f", part {self.plan.part[0] + 1} of {self.plan.part[1]}" if self.plan.part else ""
        return f"{self.plan.variant}{' copied' if self.copied else ''}{part}"


def lessons(folder: Path, limit: int) -> list[Lesson]:
    """What a folder teaches, with about so many links; raises EvaluationFailed when it has no train links."""
    found: list[Lesson] = []
    if _has(folder, "train"):
        found += [
            Lesson(plan=_plan(folder, variant, limit * share), copied=copied)
            for variant, copied, share in _SHARES
        ]
        found += _in_parts(folder)
    if _has(folder, "really_moved_train"):
        found.append(Lesson(plan=_plan(folder, Variant.REALLY_MOVED, limit * _REALLY_MOVED)))
    if not found:
        raise EvaluationFailed(f"{folder}: expected train.jsonl.gz or really_moved_train.jsonl.gz")
    return found


def check(sets: Sequence[Examples]) -> None:
    """Raise EvaluationFailed when there is too little to learn from."""
    links = max((each.taken(each.answerable()).links for each in sets if len(each.link)), default=0)
    if links < LEAST_LINKS:
        raise EvaluationFailed(f"expected at least {LEAST_LINKS} links whose answer is found, got {links}")


def _in_parts(folder: Path) -> list[Lesson]:
    plans = [replace(_plan(folder, variant, _PART_LIMIT), part=part) for variant, part in _PARTS]
    # Which links fall into a part does not depend on how they are broken; *kept* is quickest to ask.
    return [
        Lesson(plan=plan)
        for plan in plans
        if len(cases(replace(plan, variant=Variant.KEPT))) >= _LEAST_IN_PART
    ]


def _plan(folder: Path, variant: Variant, limit: float) -> Plan:
    return Plan(folder=folder, variant=variant, split="train", limit=max(1, int(limit)))


def _has(folder: Path, stem: str) -> bool:
    return any((folder / f"{stem}.jsonl{end}").is_file() for end in ("", ".gz"))
