"""Which examples to take from a collection folder: several ways of breaking its links, each with its share."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from repair.errors import EvaluationFailed
from repair.learning.examples import ExampleSets
from repair.parse.jsonlines import records
from repair.simulation.pseudobroken import BreakagePlan, Variant, cases

LEAST_LINKS = 8
"""Links with an answer among their candidates: with fewer, cross-validation on halves would mean nothing."""
# How the links are broken, and which share of them; with `copied` an older version of the lost page is known.
_SHARES = (
    (Variant.KEPT, False, 0.5),
    (Variant.MOVED, False, 1.0),
    (Variant.READDRESSED, False, 0.75),
    (Variant.GONE, False, 0.4),
    (Variant.MOVED, True, 0.25),
    (Variant.READDRESSED, True, 0.25),
)
# Few sites tell of their moves, and simulated ones keep more of an address than real ones.
_REALLY_MOVED = 3.0
# Parts of the pages stand for small collections, as a school has in its first weeks; and each part of a site that was
# renamed must be built, which takes time.
_PARTS = ((Variant.MOVED, (0, 24)), (Variant.KEPT, (1, 100)))
_RENAMED, _RENAMED_PART = 0.5, (1, 4)
_PART_LIMIT = 200
_LEAST_IN_PART = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingLesson:
    """Links to train on; with `copied` an older version of every lost page is known."""

    plan: BreakagePlan
    copied: bool = False

    @property
    def title(self) -> str:
        """A name for people, without the folder."""
        part = f", part {self.plan.part[0] + 1} of {self.plan.part[1]}" if self.plan.part else ""
        return f"{self.plan.variant}{' copied' if self.copied else ''}{part}"


def lessons(folder: Path, limit: int) -> list[TrainingLesson]:
    """The lessons of a folder, each with about `limit` links; raises EvaluationFailed without train links."""
    found: list[TrainingLesson] = []
    if _has(folder, "train"):
        found += [
            TrainingLesson(plan=_plan(folder, variant, limit * share), copied=copied)
            for variant, copied, share in _SHARES
        ]
        found += _in_parts(folder, limit)
    if _has(folder, "really_moved_train"):
        found.append(TrainingLesson(plan=_plan(folder, Variant.REALLY_MOVED, limit * _REALLY_MOVED)))
    if not found:
        raise EvaluationFailed(f"{folder}: expected train.jsonl.gz or really_moved_train.jsonl.gz")
    return found


def sites(folders: Sequence[Path]) -> dict[Path, str]:
    """A name for the site of each folder: folders whose links lead to a common host are of one site."""
    hosts = {folder: _hosts(folder) for folder in folders}
    named: dict[Path, str] = {}
    for folder in folders:
        same = (other for other in named if hosts[other] & hosts[folder])
        named[folder] = named.get(next(same, folder), folder.name)
    return named


def check(sets: Sequence[ExampleSets]) -> None:
    """Raise EvaluationFailed when there is too little to learn from."""
    found = [each.found for each in sets]
    links = max((each.subset(each.answerable()).links for each in found if len(each.link)), default=0)
    if links < LEAST_LINKS:
        raise EvaluationFailed(f"expected at least {LEAST_LINKS} links whose target is found, got {links}")


def _hosts(folder: Path) -> frozenset[str]:
    return frozenset(
        urlsplit(record["target_url"]).netloc
        for stem in ("train", "really_moved_train")
        for record in records(folder, stem, needs=("target_url",), optional=True)
    )


def _in_parts(folder: Path, limit: int) -> list[TrainingLesson]:
    plans = [replace(_plan(folder, variant, _PART_LIMIT), part=part) for variant, part in _PARTS]
    plans.append(replace(_plan(folder, Variant.RENAMED, limit * _RENAMED), part=_RENAMED_PART))
    # Which links fall into a part does not depend on how they are broken; *kept* is the quickest variant to list.
    return [
        TrainingLesson(plan=plan)
        for plan in plans
        if len(cases(replace(plan, variant=Variant.KEPT))) >= _LEAST_IN_PART
    ]


def _plan(folder: Path, variant: Variant, limit: float) -> BreakagePlan:
    return BreakagePlan(folder=folder, variant=variant, split="train", limit=max(1, int(limit)))


def _has(folder: Path, stem: str) -> bool:
    return any((folder / f"{stem}.jsonl{end}").is_file() for end in ("", ".gz"))
