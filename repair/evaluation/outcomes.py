"""Outcomes: every link of a plan ranked by our model, and by those that it is measured against."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from repair.evaluate.bench import Bench
from repair.features import FEATURES, Matrix
from repair.learnedrank import LearnedRanker
from repair.pages import Brief
from repair.papers import formula
from repair.papers.formula import Tree
from repair.papers.rivals import OWN_FORMULA, Rival, rivals
from repair.papers.singles import Run
from repair.rank import Ranked
from repair.simulate import Case

COMBINED = "combined"
_LISTED = 100
_OWN_GENETIC = "genetic programming, our features"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What one model made of one link. `rank` counts from 0, None when the answer was not listed.

    `similar` is how alike the first three pages are to the lost one.
    """

    rank: int | None
    similar: tuple[float, ...]
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of one link: our ranking, how sure we were of its first page, and the results by model.

    `oracle` is the likeness of the page most similar to the lost one of all that may be returned.
    """

    id: str
    ranked: tuple[str, ...]
    confidence: float
    oracle: float
    results: Mapping[str, Result]


def outcomes(
    bench: Bench, *, every: bool = False, tell: Callable[[int], Any] = lambda _: None
) -> list[Outcome]:
    """Every link once, by our model and the single sources, with `every` by all the papers' models.

    Ours goes through all links first, so that its latency is its own; `tell` hears each step, two of a link.
    """
    own = formula.shipped(OWN_FORMULA, FEATURES) if every else None
    ranker = bench.ranker()
    ours = []
    for case in bench.cases():
        ours.append(_ours(bench, ranker, case, own))
        tell(len(ours))
    others = rivals(bench.view, bench.collection, every=every)
    found: list[Outcome] = []
    for (ranked, runs), case in zip(ours, bench.cases(), strict=True):
        found.append(_outcome(bench, case, ranked, [*runs, *_theirs(others, case)]))
        tell(len(ours) + len(found))
    return found


def _outcome(bench: Bench, case: Case, ranked: Sequence[Ranked], runs: Sequence[Run]) -> Outcome:
    judged = _Judged(bench, case)
    return Outcome(
        id=case.id,
        ranked=tuple(choice.page.url for choice in ranked),
        confidence=ranked[0].confidence if ranked else 0.0,
        oracle=judged.oracle(),
        results={run.name: judged.result(run) for run in runs},
    )


def _theirs(others: Sequence[Rival], case: Case) -> list[Run]:
    return [run for other in others for run in other.runs(case.link)]


def _ours(
    bench: Bench, ranker: LearnedRanker, case: Case, own: Tree | None
) -> tuple[Sequence[Ranked], list[Run]]:
    """Our ranking, and the runs over our candidates: the combined model's, the formula's over the same features."""
    hidden = bench.hidden(case)
    started = time.perf_counter()
    pages, rows, _ = ranker.matrix(case.link, bench.evidence(case), hidden=hidden)
    found = time.perf_counter()
    ranked, _ = ranker.judged(pages, rows)
    ended = time.perf_counter()
    runs = [Run(COMBINED, [choice.page.page for choice in ranked], ended - started)]
    if own is not None:
        order = _by_formula(own, pages, rows)
        runs.append(Run(_OWN_GENETIC, order, found - started + time.perf_counter() - ended))
    return ranked[:_LISTED], runs


def _by_formula(tree: Tree, pages: Sequence[Brief], rows: Matrix) -> list[int]:
    return [pages[at].page for at in np.argsort(-formula.values(tree, rows), kind="stable")]


class _Judged:
    """How rankings for one link are judged: by where the answer is, by how alike the first pages are to it."""

    def __init__(self, bench: Bench, case: Case) -> None:
        self._likeness = bench.likeness
        self._truth = bench.collection.page_number(case.truth)
        self._hidden = bench.numbers(bench.hidden(case))
        self._alike = bench.likeness.to_all(self._truth) if self._truth is not None else None

    def result(self, run: Run) -> Result:
        """The result of a ranking, pages that may not be returned left out."""
        pages = [page for page in run.pages if page not in self._hidden][:_LISTED]
        similar: tuple[float, ...] = ()
        if self._alike is not None and pages:
            similar = tuple(self._alike[self._likeness.places(pages[:3])].tolist())
        rank = pages.index(self._truth) if self._truth in pages else None
        return Result(rank=rank, similar=similar, seconds=run.seconds)

    def oracle(self) -> float:
        """The likeness of the best page that may be returned."""
        if self._alike is None:
            return 0.0
        left = self._alike.copy()
        left[self._likeness.places(tuple(self._hidden))] = 0.0
        return float(left.max())
