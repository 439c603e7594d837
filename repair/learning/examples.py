"""Training examples: the candidates of many broken links, their features, and which candidate is the answer."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from repair.errors import EvaluationFailed
from repair.ranking.features import FEATURES, RAW, Matrix, complete_features
from repair.simulation.pseudobroken import BreakagePlan, BrokenCase, Variant
from repair.simulation.testbed import RankingTestbed, build_testbed

_COUNTS_AT = [
    FEATURES.index(f"known.{name}") for name in ("inlinks", "anchor_terms", "slug_terms", "copy_terms")
]

_SMALL = 0.2

Rows = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Examples:
    """Candidates of links, grouped by link.

    `link` is the link's place in the file, the same in every variant; `similarity` is the cosine to the lost page.
    """

    name: str
    rows: Matrix
    answer: Flags
    similarity: Matrix
    link: Rows

    @property
    def links(self) -> int:
        """How many links there are."""
        return len(np.unique(self.link))

    def answerable(self) -> Flags:
        """For each candidate, whether the answer is among the candidates of its link."""
        found = np.zeros(int(self.link.max(initial=0)) + 1, bool)
        found[self.link[self.answer]] = True
        flags: Flags = found[self.link]
        return flags

    def subset(self, kept: Flags) -> "Examples":
        """Only the candidates in `kept`; links keep their numbers."""
        return Examples(
            name=self.name,
            rows=self.rows[kept],
            answer=self.answer[kept],
            similarity=self.similarity[kept],
            link=self.link[kept],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ExampleSets:
    """The same links three times, alike in all but the truth.

    `found` as they are, `gone` without the lost page, `unrelated` without any page about its subject. Where the plan
    itself hides the lost pages, `found` has no answers.
    """

    found: Examples
    gone: Examples
    unrelated: Examples
    site: str = ""

    @property
    def name(self) -> str:
        """For people: folder and variant."""
        return self.found.name

    @property
    def is_answered(self) -> bool:
        """Whether some link has its answer."""
        return bool(self.found.answer.any())


class _Collector:
    """Gathers the candidates of one way to hide pages."""

    def __init__(self, opened: RankingTestbed, *, gone: bool) -> None:
        self._opened = opened
        self._ranker = opened.ranker()
        self._gone = gone
        self._rows: list[Matrix] = []
        self._answers: list[Flags] = []
        self._similar: list[Matrix] = []
        self._numbers: list[Rows] = []

    def add(self, case: BrokenCase, truth: int, hidden: frozenset[str]) -> None:
        """Add the candidates of a link that are not hidden."""
        opened = self._opened
        opened.view.show(case, gone=self._gone, copied=opened.copied)
        pages, matrix, _ = self._ranker.matrix(case.link, opened.evidence(case), hidden=hidden)
        if not pages:
            return
        places = opened.likeness.places([page.page for page in pages])
        self._rows.append(matrix.astype(np.float32))
        self._answers.append(np.array([page.page == truth for page in pages]))
        self._similar.append(opened.likeness.to_all(truth)[places])
        self._numbers.append(np.full(len(pages), case.number))

    def examples(self, name: str) -> Examples:
        """All candidates so far."""
        return Examples(
            name=name,
            rows=np.concatenate([np.zeros((0, len(FEATURES)), np.float32), *self._rows]),
            answer=np.concatenate([np.zeros(0, bool), *self._answers]),
            similarity=np.concatenate([np.zeros(0, np.float32), *self._similar]),
            link=np.concatenate([np.zeros(0, np.int64), *self._numbers]),
        )


KINDS = ("found", "gone", "unrelated")


def gather_examples(
    plan: BreakagePlan,
    cache: Path,
    *,
    copied: bool = False,
    kinds: Sequence[str] = KINDS,
    tell: Callable[[int], Any] = lambda _: None,
) -> ExampleSets:
    """The examples of a plan; with `copied` an older version of every lost page is known.

    Links whose answer is no candidate still count, without an answer; so do links whose page is gone. Each of the
    `kinds` of ExampleSets ranks every link once more; others stay empty.
    """
    name = f"{plan.folder.name} {plan.variant}{' copied' if copied else ''}"
    with build_testbed(plan, cache, None, copied=copied) as opened:
        found, gone, unrelated = (
            _Collector(opened, gone=hidden) for hidden in (plan.variant is Variant.GONE, True, True)
        )
        for done, case in enumerate(opened.cases(), start=1):
            tell(done)
            truth = opened.collection.page_number(case.truth)
            if truth is None:
                continue
            hidden = opened.hidden(case)
            found.add(case, truth, hidden)
            if "gone" in kinds:
                gone.add(case, truth, hidden | {case.truth, *opened.collection.same(truth)})
            if "unrelated" in kinds:
                unrelated.add(case, truth, hidden | opened.of_subject(case))
        sets = ExampleSets(
            found=found.examples(name),
            gone=gone.examples(f"{name} gone"),
            unrelated=unrelated.examples(f"{name} unrelated"),
        )
    if not len(sets.found.link):
        raise EvaluationFailed(
            f"{plan.folder}: no training examples: no link of variant {plan.variant} has candidates"
        )
    return sets


def groups(link: Rows) -> Iterable[slice]:
    """The candidates of each link, as slices."""
    if not len(link):
        return []
    edges = np.concatenate(([0], np.flatnonzero(np.diff(link)) + 1, [len(link)]))
    return [slice(int(start), int(end)) for start, end in pairwise(edges)]


def hard_candidates(examples: Examples, scores: Matrix, *, keep: int, share: float, seed: int) -> Flags:
    """The candidates worth training on: answers, those scored best, and a random share of the others."""
    order = np.lexsort((-scores, examples.link))
    rank = np.empty(len(order), np.int64)
    for of_link in groups(examples.link):
        rank[order[of_link]] = np.arange(of_link.stop - of_link.start)
    lots = np.random.default_rng(seed).random(len(order)) < share
    flags: Flags = (rank < keep) | examples.answer | lots
    return flags


# Kinds of evidence by the names of their features; each site lacks some of them.
_KINDS: tuple[re.Pattern[str], ...] = tuple(
    map(
        re.compile,
        (
            r".*(\.title(?:_\w+)?|=title|~title)(/best)?\Z",
            r"(anchor[.=~]|known\.anchor_terms)",
            r"(inlinks\.|around\.|names[=~]|known\.inlinks)",
            r"(slug[.=~]|dirs\.|tail[.=~]|known\.slug_terms)",
            r"(address\.|known\.urls)",
            r"(.*(\.anchors|\.called|\.calls)(/best)?\Z|anchors_length|known\.anchors)",
            r"(.*(\.body|\.body_all|\.lm)(/best)?\Z)",
            r"(move\.)",
            r"(links_|hub|authority)",
            r"(company\.)",
            r"(language\.)",
            r"(copy[.=~])",
            r"(tags\.)",
            r"((body|title)_length|prior\.|found\.)",
        ),
    )
)
_COLUMNS = [[at for at, name in enumerate(FEATURES) if kind.match(name)] for kind in _KINDS]


def drop_evidence(examples: Examples, seed: int) -> Examples:
    """The same links without one to three random kinds of evidence, the same ones for all candidates of a link.

    One link in five keeps only a few candidates, as in a small collection.
    """
    lots = np.random.default_rng(seed)
    rows = examples.rows.copy()
    kept = np.ones(len(rows), bool)
    for of_link in groups(examples.link):
        if lots.random() < _SMALL:
            few = lots.random(of_link.stop - of_link.start) < lots.integers(1, 9) / (
                of_link.stop - of_link.start
            )
            kept[of_link] = few | examples.answer[of_link]
            chosen = np.flatnonzero(kept[of_link]) + of_link.start
            if len(chosen):
                rows[chosen] = complete_features(
                    rows[chosen, : len(RAW)], rows[of_link.start, _COUNTS_AT].tolist()
                )
        for kind in lots.choice(len(_COLUMNS), lots.integers(1, 4), replace=False):
            rows[of_link, _COLUMNS[kind]] = 0.0
    return replace(examples, name=f"{examples.name} poorer", rows=rows).subset(kept)
