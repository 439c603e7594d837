"""Models side by side on links that none of them learnt from, and whether one may take the place of another."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from repair.evaluate.bench import Bench, bench
from repair.evaluate.measures import measures
from repair.evaluate.outcomes import Result
from repair.learnedrank import LearnedRanker
from repair.rank import Ranked
from repair.rankmodel import RankModel
from repair.simulate import Case, Plan, Variant

VARIANTS = (Variant.MOVED, Variant.KEPT, Variant.GONE)
_LEAST_GAIN = 0.005  # less is chance, on some hundred links
_MAY_LOSE = 0.01  # R@1, about one validation link


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """How good a model is: R@1 and MRR where the page is held, Sim@1 where it is gone."""

    moved: float
    moved_mrr: float
    kept: float
    kept_mrr: float
    gone: float

    @property
    def mean(self) -> float:
        """What models are compared by: the page itself where it is held, one like it where it is not."""
        return (self.moved + self.gone) / 2

    def __str__(self) -> str:
        return (
            f"moved R@1 {self.moved:.3f} MRR {self.moved_mrr:.3f}, kept R@1 {self.kept:.3f} MRR {self.kept_mrr:.3f},"
            f" gone Sim@1 {self.gone:.3f}"
        )


def is_better(new: Figures, old: Figures) -> bool:
    """Whether a model is better on the whole, and nowhere notably worse at finding the page itself."""
    return (
        new.mean >= old.mean + _LEAST_GAIN
        and new.moved >= old.moved - _MAY_LOSE
        and new.kept >= old.kept - _MAY_LOSE
    )


def compared(
    folder: Path, cache: Path, models: Sequence[RankModel], tell: Callable[[int], Any] = lambda _: None
) -> list[Figures]:
    """The figures of each model on the test links of a folder; `tell` hears of every link in every variant."""
    tables: list[dict[str, float]] = [{} for _ in models]
    told = 0
    for variant in VARIANTS:
        with bench(Plan(folder=folder, variant=variant), cache, None) as opened:
            judges = [LearnedRanker(opened.view, model) for model in models]
            results: list[list[Result]] = [[] for _ in models]
            for case in opened.cases():
                for own, result in zip(results, _results(opened, case, judges), strict=True):
                    own.append(result)
                told += 1
                tell(told)
        for table, own in zip(tables, results, strict=True):
            table.update({f"{variant} {name}": value for name, value in measures(own, variant).items()})
    return [_figures(table) for table in tables]


def _results(opened: Bench, case: Case, judges: Sequence[LearnedRanker]) -> list[Result]:
    """What each model makes of a link; the features are the same for all."""
    pages, rows, _ = opened.ranker().matrix(case.link, hidden=opened.hidden(case))
    return [_result(opened, case, judge.judged(pages, rows)[0]) for judge in judges]


def _result(opened: Bench, case: Case, ranked: Sequence[Ranked]) -> Result:
    truth = opened.collection.page_number(case.truth)
    pages = [choice.page.page for choice in ranked]
    if truth is None or not pages:
        return Result(rank=None, similar=(), seconds=0.0)
    similar = opened.likeness.to_all(truth)[opened.likeness.places(pages[:3])]
    return Result(
        rank=pages.index(truth) if truth in pages else None, similar=tuple(similar.tolist()), seconds=0.0
    )


def _figures(table: dict[str, float]) -> Figures:
    return Figures(
        moved=table["moved R@1"],
        moved_mrr=table["moved MRR"],
        kept=table["kept R@1"],
        kept_mrr=table["kept MRR"],
        gone=table["gone Sim@1"],
    )
