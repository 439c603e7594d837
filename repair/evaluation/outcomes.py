"""Outcomes: every link of a plan, ranked by our model and by the models it is compared with."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from repair.collection.pages import PageSummary
from repair.evaluation.papers import formula
from repair.evaluation.papers.baselines import OWN_FORMULA, Baseline, baselines
from repair.evaluation.papers.formula import Tree
from repair.evaluation.papers.singlesources import BaselineRun
from repair.ranking.features import FEATURES, Matrix
from repair.ranking.learned import LearnedRanker
from repair.ranking.plain import RankedPage
from repair.simulation.pseudobroken import BrokenCase
from repair.simulation.testbed import RankingTestbed

COMBINED = "combined"
_LISTED = 100
_OWN_GENETIC = "genetic programming, our features"


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingResult:
    """How one model ranked one link. `rank` counts from 0; None when the answer was not listed.

    `similar` has the similarities of the first three pages to the lost one.
    """

    rank: int | None
    similar: tuple[float, ...]
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkOutcome:
    """All results for one link: our ranking, the confidence in its first page, and the results by model.

    `offered` says whether a reader would get the list at all; `oracle` is the similarity of the page most similar to
    the lost one, of all that may be returned.
    """

    id: str
    ranked: tuple[str, ...]
    confidence: float
    offered: bool
    oracle: float
    results: Mapping[str, RankingResult]


def outcomes(
    bench: RankingTestbed, *, every: bool = False, tell: Callable[[int], Any] = lambda _: None
) -> list[LinkOutcome]:
    """Rank every link once by our model and the single sources; with `every`, by all the papers' models.

    Our model ranks all links first, so that nothing else affects its latency. `tell` gets the number of steps done,
    two for each link.
    """
    own = formula.shipped_formula(OWN_FORMULA, FEATURES) if every else None
    ranker = bench.ranker()
    ours = []
    for case in bench.cases():
        ours.append(_run_ours(bench, ranker, case, own))
        tell(len(ours))
    others = baselines(bench.view, bench.collection, every=every)
    found: list[LinkOutcome] = []
    for own_run, case in zip(ours, bench.cases(), strict=True):
        found.append(_outcome(bench, case, own_run, _run_baselines(others, case)))
        tell(len(ours) + len(found))
    return found


def _outcome(
    bench: RankingTestbed, case: BrokenCase, ours: "_OwnRun", others: Sequence[BaselineRun]
) -> LinkOutcome:
    judged = _CaseJudge(bench, case)
    return LinkOutcome(
        id=case.id,
        ranked=tuple(choice.page.url for choice in ours.ranked),
        confidence=ours.ranked[0].confidence if ours.ranked else 0.0,
        offered=ours.offered,
        oracle=judged.oracle(),
        results={run.name: judged.result(run) for run in (*ours.runs, *others)},
    )


def _run_baselines(others: Sequence[Baseline], case: BrokenCase) -> list[BaselineRun]:
    return [run for other in others for run in other.runs(case.link)]


class _OwnRun(NamedTuple):
    """Our ranking, whether it is offered, and the runs over our candidates."""

    ranked: Sequence[RankedPage]
    offered: bool
    runs: Sequence[BaselineRun]


def _run_ours(bench: RankingTestbed, ranker: LearnedRanker, case: BrokenCase, own: Tree | None) -> _OwnRun:
    """Rank by the combined model and, if given, by a formula over the same features."""
    hidden = bench.hidden(case)
    started = time.perf_counter()
    pages, rows, _ = ranker.matrix(case.link, bench.evidence(case), hidden=hidden)
    found = time.perf_counter()
    ranked, repairable = ranker.judge(pages, rows)
    ended = time.perf_counter()
    runs = [BaselineRun(COMBINED, [choice.page.page for choice in ranked], ended - started)]
    if own is not None:
        order = _by_formula(own, pages, rows)
        runs.append(BaselineRun(_OWN_GENETIC, order, found - started + time.perf_counter() - ended))
    return _OwnRun(ranked[:_LISTED], ranker.offers(ranked, repairable), runs)


def _by_formula(tree: Tree, pages: Sequence[PageSummary], rows: Matrix) -> list[int]:
    return [pages[at].page for at in np.argsort(-formula.values(tree, rows), kind="stable")]


class _CaseJudge:
    """Judges rankings of one link by the rank of the answer and the similarity of the first pages to it."""

    def __init__(self, bench: RankingTestbed, case: BrokenCase) -> None:
        self._likeness = bench.likeness
        self._truth = bench.collection.page_number(case.truth)
        self._hidden = bench.numbers(bench.hidden(case))
        self._alike = bench.likeness.to_all(self._truth) if self._truth is not None else None

    def result(self, run: BaselineRun) -> RankingResult:
        """The result of a ranking, without pages that may not be returned."""
        pages = [page for page in run.pages if page not in self._hidden][:_LISTED]
        similar: tuple[float, ...] = ()
        if self._alike is not None and pages:
            similar = tuple(self._alike[self._likeness.places(pages[:3])].tolist())
        rank = pages.index(self._truth) if self._truth in pages else None
        return RankingResult(rank=rank, similar=similar, seconds=run.seconds)

    def oracle(self) -> float:
        """The similarity of the best page that may be returned."""
        if self._alike is None:
            return 0.0
        left = self._alike.copy()
        left[self._likeness.places(tuple(self._hidden))] = 0.0
        return float(left.max())
