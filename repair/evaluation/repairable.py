"""Repairable or not (Bashir section 5.2): does the model know when no page is worth offering?

Every link is ranked twice: once as it is, when its answer may be returned and should be offered; once with the answer
and all pages about its subject hidden, when nothing should be offered.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from repair.ranking.learned import OFFER_AT
from repair.simulation.testbed import RankingTestbed

UNRELATED = 0.35
"""A page with at least this cosine to the lost page is about the same subject."""


class RepairableVerdict(NamedTuple):
    """Whether a link could be repaired, and whether anything was offered."""

    repairable: bool
    offered: bool


def verdicts(
    bench: RankingTestbed, *, tell: Callable[[int], Any] = lambda _: None
) -> Iterator[RepairableVerdict]:
    """Two verdicts for each link; links whose answer is missing or may not be returned are left out."""
    ranker = bench.ranker()
    for done, case in enumerate(bench.cases(), start=1):
        truth = bench.collection.page_number(case.truth)
        tell(done)
        if truth is None or case.truth in case.hidden:
            continue
        evidence = bench.evidence(case)
        _, likely = ranker.rank_all(case.link, evidence, hidden=case.hidden)
        yield RepairableVerdict(True, likely >= OFFER_AT)
        bench.view.show(case, gone=True)
        hidden = case.hidden | _of_subject(bench, truth)
        _, likely = ranker.rank_all(case.link, evidence, hidden=hidden)
        yield RepairableVerdict(False, likely >= OFFER_AT)


def _of_subject(bench: RankingTestbed, truth: int) -> frozenset[str]:
    alike = bench.likeness.to_all(truth)
    pages = bench.collection.numbers()
    near = np.flatnonzero(alike[bench.likeness.places(pages)] >= UNRELATED)
    found = bench.collection.page_summaries([pages[at] for at in near])
    return frozenset(page.url for page in found.values())


def confusion(found: Iterator[RepairableVerdict]) -> dict[str, Any]:
    """The confusion matrix with accuracy; precision and recall are of what is offered."""
    counts = {(kind, offered_it): 0 for kind in (True, False) for offered_it in (True, False)}
    for verdict in found:
        counts[verdict] += 1
    hits, misses, alarms, silent = (counts[key] for key in counts)
    return {
        "n": hits + misses + alarms + silent,
        "accuracy": _share(hits + silent, hits + misses + alarms + silent),
        "precision": _share(hits, hits + alarms),
        "recall": _share(hits, hits + misses),
        "table": {
            "repairable": {"offered": hits, "not_offered": misses},
            "not_repairable": {"offered": alarms, "not_offered": silent},
        },
    }


def _share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0
