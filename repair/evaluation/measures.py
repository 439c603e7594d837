"""Measures over many links, and the report of `linkmend evaluate`.

R@k, MRR and nDCG@10 measure at which rank the answer is. Sim@k measures how similar the first k pages are to it
(Bashir section 5.3: cosine of the texts; Sim@3 is the mean of the first three). For *gone* there is no answer, and
`oracle` is the similarity of the best page in the collection. `offered` is the share of links with a list, `served@1`
the share whose list is offered and has the answer first: what readers get. Calibration compares the confidence shown
for first alternatives with the share of them that are right.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from repair.evaluation.outcomes import COMBINED, LinkOutcome, RankingResult
from repair.simulation.pseudobroken import BreakagePlan, Variant

_BINS = 5


def measures(results: Sequence[RankingResult], variant: Variant) -> dict[str, float]:
    """The measures by name; for *gone* only similarities and latency."""
    ranks = [result.rank for result in results]
    times = [1000 * result.seconds for result in results]
    table: dict[str, float] = {}
    if variant is not Variant.GONE:
        table |= {f"R@{k}": _mean([rank is not None and rank < k for rank in ranks]) for k in (1, 3, 10)}
        table["MRR"] = _mean([0.0 if rank is None else 1 / (1 + rank) for rank in ranks])
        table["nDCG@10"] = _mean(
            [1 / math.log2(2 + rank) if rank is not None and rank < 10 else 0.0 for rank in ranks]
        )
    table["Sim@1"] = _mean([result.similar[0] if result.similar else 0.0 for result in results])
    table["Sim@3"] = _mean([sum(result.similar) / 3 for result in results])
    table["p50_ms"], table["p95_ms"] = (float(np.percentile(times, p)) if times else 0.0 for p in (50, 95))
    return {name: round(value, 4) for name, value in table.items()}


def calibration(found: Sequence[LinkOutcome]) -> dict[str, Any]:
    """Mean confidence of first alternatives and the share that is right, in five bins; and the expected error."""
    confidence = np.array([outcome.confidence for outcome in found if outcome.ranked])
    right = np.array([outcome.results[COMBINED].rank == 0 for outcome in found if outcome.ranked])
    places = np.minimum((confidence * _BINS).astype(int), _BINS - 1)
    bins = []
    for at in range(_BINS):
        inside = places == at
        if inside.any():
            bins.append(
                {
                    "from": at / _BINS,
                    "to": (at + 1) / _BINS,
                    "n": int(inside.sum()),
                    "confidence": round(float(confidence[inside].mean()), 4),
                    "right": round(float(right[inside].mean()), 4),
                }
            )
    error = sum(each["n"] * abs(each["confidence"] - each["right"]) for each in bins) / max(1, len(right))
    return {"bins": bins, "expected_error": round(float(error), 4)}


def report(plan: BreakagePlan, found: Sequence[LinkOutcome], *, copies: bool = False) -> dict[str, Any]:
    """The output of `evaluate --json`.

    `models` has the papers' models beside ours; `copies` tells whether older versions of lost pages were known.
    """
    names = list(found[0].results) if found else [COMBINED]
    models = {name: measures([outcome.results[name] for outcome in found], plan.variant) for name in names}
    if plan.variant is Variant.GONE:
        models[COMBINED]["oracle_Sim@1"] = round(_mean([outcome.oracle for outcome in found]), 4)
    answer: dict[str, Any] = {
        "collection": plan.folder.name,
        "variant": plan.variant.value,
        "copies": copies,
        "n": len(found),
        **models[COMBINED],
        "offered": round(_mean([outcome.offered for outcome in found]), 4),
        "models": models,
    }
    if plan.variant is not Variant.GONE:
        served = [outcome.offered and outcome.results[COMBINED].rank == 0 for outcome in found]
        answer["served@1"] = round(_mean(served), 4)
        answer["calibration"] = calibration(found)
        answer["calibration_error"] = answer["calibration"]["expected_error"]
    return answer


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
