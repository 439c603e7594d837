"""Compares models on links that none of them was trained on, and decides whether one may replace another."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from repair.evaluation.measures import measures
from repair.evaluation.outcomes import RankingResult
from repair.ranking.learned import LearnedRanker
from repair.ranking.plain import RankedPage
from repair.ranking.rankmodel import RankModel
from repair.simulation.pseudobroken import BreakagePlan, BrokenCase, Variant
from repair.simulation.testbed import RankingTestbed, build_testbed

VARIANTS = (Variant.MOVED, Variant.KEPT, Variant.GONE)
_LEAST_GAIN = 0.005  # a smaller gain on some hundred links may be chance
_MAY_LOSE = 0.01  # R@1, about one validation link


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFigures:
    """How good a model is: R@1 and MRR where the collection has the page, Sim@1 where the page is gone.

    `moved_served` is the share of links whose list has the page first and is offered.
    """

    moved: float
    moved_served: float
    moved_mrr: float
    kept: float
    kept_mrr: float
    gone: float

    @property
    def mean(self) -> float:
        """What models are compared by: finding the page itself if it is there, else a similar one."""
        return (self.moved + self.gone) / 2

    def __str__(self) -> str:
        return (
            f"moved R@1 {self.moved:.3f} served {self.moved_served:.3f} MRR {self.moved_mrr:.3f},"
            f" kept R@1 {self.kept:.3f} MRR {self.kept_mrr:.3f}, gone Sim@1 {self.gone:.3f}"
        )


class _ServedResult(NamedTuple):
    """A result, and whether a reader would get the list."""

    result: RankingResult
    offered: bool


def is_better(new: ModelFigures, old: ModelFigures) -> bool:
    """Whether a model is better on average, and not notably worse at finding and offering the page itself."""
    return (
        new.mean >= old.mean + _LEAST_GAIN
        and new.moved >= old.moved - _MAY_LOSE
        and new.moved_served >= old.moved_served - _MAY_LOSE
        and new.kept >= old.kept - _MAY_LOSE
    )


def compare_models(
    folder: Path, cache: Path, models: Sequence[RankModel], tell: Callable[[int], Any] = lambda _: None
) -> list[ModelFigures]:
    """The figures of each model on the test links of a folder; `tell` gets the number of links done so far."""
    tables: list[dict[str, float]] = [{} for _ in models]
    done = 0
    for variant in VARIANTS:
        with build_testbed(BreakagePlan(folder=folder, variant=variant), cache, None) as opened:
            judges = [LearnedRanker(opened.view, model) for model in models]
            results: list[list[_ServedResult]] = [[] for _ in models]
            for case in opened.cases():
                for model_results, result in zip(results, _results(opened, case, judges), strict=True):
                    model_results.append(result)
                done += 1
                tell(done)
        for table, model_results in zip(tables, results, strict=True):
            found = measures([result for result, _ in model_results], variant)
            served = sum(offered and result.rank == 0 for result, offered in model_results)
            table.update({f"{variant} {name}": value for name, value in found.items()})
            table[f"{variant} served@1"] = served / max(1, len(model_results))
    return [_figures(table) for table in tables]


def _results(
    opened: RankingTestbed, case: BrokenCase, judges: Sequence[LearnedRanker]
) -> list[_ServedResult]:
    """How each model ranks a link; the features are computed once for all models."""
    pages, rows, _ = opened.ranker().matrix(case.link, hidden=opened.hidden(case))
    judged = [judge.judge(pages, rows) for judge in judges]
    return [
        _ServedResult(_result(opened, case, ranked), judge.offers(ranked, repairable))
        for judge, (ranked, repairable) in zip(judges, judged, strict=True)
    ]


def _result(opened: RankingTestbed, case: BrokenCase, ranked: Sequence[RankedPage]) -> RankingResult:
    truth = opened.collection.page_number(case.truth)
    pages = [choice.page.page for choice in ranked]
    if truth is None or not pages:
        return RankingResult(rank=None, similar=(), seconds=0.0)
    similar = opened.likeness.to_all(truth)[opened.likeness.places(pages[:3])]
    return RankingResult(
        rank=pages.index(truth) if truth in pages else None, similar=tuple(similar.tolist()), seconds=0.0
    )


def _figures(table: dict[str, float]) -> ModelFigures:
    return ModelFigures(
        moved=table["moved R@1"],
        moved_served=table["moved served@1"],
        moved_mrr=table["moved MRR"],
        kept=table["kept R@1"],
        kept_mrr=table["kept MRR"],
        gone=table["gone Sim@1"],
    )
