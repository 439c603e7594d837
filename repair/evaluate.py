"""Measuring: a model on the links of a collection folder whose answers are known, one variant at a time.

R@k, MRR and nDCG@10 ask where the answer stands; Sim@k how alike what stands there is to it (Bashir section 5.3:
cosine of the texts; Sim@3 is the mean of the first three). For *gone* there is no answer, and `oracle` says what the
most similar held page would have given.
"""

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from repair import simulate
from repair.collection import Collection
from repair.features import FEATURES, Matrix
from repair.learnedrank import LearnedRanker
from repair.rankmodel import RankModel
from repair.similarity import Similarity
from repair.simulate import Case, Plan, Variant
from repair.view import View

_LISTED = 100
SINGLE: Mapping[str, list[int]] = {
    **{
        f"{source}/{weighting}": [FEATURES.index(f"{clue}.{column}")]
        for source, clue in (
            ("anchor", "anchor"),
            ("url", "slug"),
            ("context", "context"),
            ("page", "source"),
        )
        for weighting, column in (("bm25", "body"), ("lm", "lm"))
    },
    "neighbourhood/bm25": [FEATURES.index("inlinks.body")],
    "sum": [
        FEATURES.index(f"{c}.{f}/best")
        for c in ("anchor", "slug", "context", "source")
        for f in ("body", "lm")
    ],
}
"""The papers' single sources, as columns of our features; over our candidates, which flatters them a little."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of one link. `rank` counts from 0, None when the answer was not listed."""

    id: str
    ranked: tuple[str, ...]
    rank: int | None
    similar: tuple[float, ...]
    oracle: float
    repairable: float
    confidence: float
    seconds: float
    others: Mapping[str, int | None] = field(default_factory=dict)


def outcomes(plan: Plan, cache: Path, model: RankModel) -> Iterator[Outcome]:
    """Each link of a plan ranked by a model, one after the other."""
    with simulate.collection(plan, cache) as collection:
        view = View(collection)
        moves = simulate.known_moves(plan, collection)
        ranker = LearnedRanker(
            view,
            model,
            guesses=lambda url: moves.guesses(url, collection.holds),
            compare_addresses=plan.variant is not Variant.KEPT,
        )
        likeness = Similarity(collection)
        for case in simulate.cases(plan):
            view.show(case, gone=plan.variant is Variant.GONE)
            yield _outcome(case, plan, collection, ranker, likeness)


def _outcome(
    case: Case, plan: Plan, collection: Collection, ranker: LearnedRanker, likeness: Similarity
) -> Outcome:
    truth = collection.page_number(case.truth)
    alike = likeness.to_all(truth) if truth is not None else None
    hidden = case.hidden
    if plan.variant is Variant.GONE and truth is not None:
        hidden |= _same(collection, truth, case.truth)
    started = time.perf_counter()
    pages, rows, _ = ranker.matrix(case.link, hidden=hidden)
    ranked, repairable = ranker.judged(pages, rows)
    seconds = time.perf_counter() - started
    ranked = ranked[:_LISTED]
    urls = tuple(choice.page.url for choice in ranked)
    first = [choice.page.page for choice in ranked[:3]]
    return Outcome(
        id=case.id,
        ranked=urls,
        rank=urls.index(case.truth) if case.truth in urls else None,
        similar=tuple(alike[likeness.places(first)].tolist()) if alike is not None and first else (),
        oracle=_best(alike, likeness, collection, hidden) if alike is not None else 0.0,
        repairable=repairable,
        confidence=ranked[0].confidence if ranked else 0.0,
        seconds=seconds,
        others=_other_ranks(rows, [page.url for page in pages].index(case.truth))
        if case.truth in urls
        else {},
    )


def _other_ranks(rows: Matrix, answer: int) -> dict[str, int | None]:
    """Where the answer stands by one source and weighting alone, and by the sum of all."""
    found: dict[str, int | None] = {}
    for name, columns in SINGLE.items():
        scores = rows[:, columns].sum(axis=1)
        # Ties count against: a source that says nothing must not look good.
        found[name] = int((scores >= scores[answer]).sum()) - 1
    return found


def _same(collection: Collection, page: int, url: str) -> frozenset[str]:
    """The addresses of a page and of those that say exactly the same."""
    return frozenset({url, *collection.same(page)})


def _best(alike: Any, likeness: Similarity, collection: Collection, hidden: frozenset[str]) -> float:
    numbers = [number for url in hidden if (number := collection.page_number(url)) is not None]
    left = alike.copy()
    left[likeness.places(numbers)] = 0.0
    return float(left.max())


def measures(found: Sequence[Outcome], variant: Variant) -> dict[str, float]:
    """The figures of DESIGN.md; for *gone* only similarities and the oracle's."""
    ranks = [outcome.rank for outcome in found]
    times = [1000 * outcome.seconds for outcome in found]
    table: dict[str, float] = {}
    if variant is not Variant.GONE:
        table |= {f"R@{k}": _mean([rank is not None and rank < k for rank in ranks]) for k in (1, 3, 10)}
        table["MRR"] = _mean([0.0 if rank is None else 1 / (1 + rank) for rank in ranks])
        table["nDCG@10"] = _mean(
            [1 / math.log2(2 + rank) if rank is not None and rank < 10 else 0.0 for rank in ranks]
        )
    table["Sim@1"] = _mean([outcome.similar[0] if outcome.similar else 0.0 for outcome in found])
    table["Sim@3"] = _mean([sum(outcome.similar) / 3 for outcome in found])
    if variant is Variant.GONE:
        table["oracle_Sim@1"] = _mean([outcome.oracle for outcome in found])
    table["p50_ms"], table["p95_ms"] = (float(np.percentile(times, p)) if times else 0.0 for p in (50, 95))
    return {name: round(value, 4) for name, value in table.items()}


def others(found: Sequence[Outcome]) -> dict[str, dict[str, float]]:
    """Recall by the papers' single sources, for comparison."""
    table: dict[str, dict[str, float]] = {}
    for name in SINGLE:
        ranks = [outcome.others.get(name) for outcome in found]
        table[name] = {
            f"R@{k}": round(_mean([rank is not None and rank < k for rank in ranks]), 4) for k in (1, 3, 10)
        }
    return table


def report(plan: Plan, found: Sequence[Outcome]) -> dict[str, Any]:
    """The answer of `evaluate --json`; `models` has the papers' single sources beside ours."""
    own = measures(found, plan.variant)
    single = others(found) if plan.variant is not Variant.GONE else {}
    return {
        "collection": plan.folder.name,
        "variant": plan.variant.value,
        "n": len(found),
        **own,
        "models": {"combined": own, **single},
    }


def counted(found: Iterator[Outcome], tell: Callable[[int], Any]) -> list[Outcome]:
    """All outcomes, telling how many there are so far."""
    gathered: list[Outcome] = []
    for outcome in found:
        gathered.append(outcome)
        tell(len(gathered))
    return gathered


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
