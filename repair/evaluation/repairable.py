"""Repairable or not (Bashir section 5.2): does the model know when no page is worth offering?

Every link is ranked twice: once as it is, when its answer may be returned and should be offered; once with the answer
and all pages about its subject hidden, when nothing should be offered.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from repair.ranking.learned import LearnedRanker
from repair.simulation.pseudobroken import BrokenCase
from repair.simulation.testbed import RankingTestbed

SAMPLE = 250
"""So many links, spread over the file, are enough to tell how often something is offered where nothing should be."""


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
        tell(done)
        if not _can_be_repaired(bench, case):
            continue
        yield RepairableVerdict(True, _offers(ranker, bench, case, case.hidden))
        yield RepairableVerdict(False, _offers_without_subject(ranker, bench, case))


def false_offers(bench: RankingTestbed, *, sample: int = SAMPLE) -> float:
    """The share of links that get a list although nothing alike is saved; of a sample spread over the links."""
    ranker = bench.ranker()
    asked = [case for case in bench.cases() if _can_be_repaired(bench, case)]
    chosen = asked[:: max(1, -(-len(asked) // sample))]
    return _share(sum(_offers_without_subject(ranker, bench, case) for case in chosen), len(chosen))


def _can_be_repaired(bench: RankingTestbed, case: BrokenCase) -> bool:
    return bench.collection.holds(case.truth) and case.truth not in case.hidden


def _offers_without_subject(ranker: LearnedRanker, bench: RankingTestbed, case: BrokenCase) -> bool:
    bench.view.show(case, gone=True, copied=bench.copied)
    return _offers(ranker, bench, case, case.hidden | bench.of_subject(case))


def _offers(ranker: LearnedRanker, bench: RankingTestbed, case: BrokenCase, hidden: frozenset[str]) -> bool:
    ranked, repairable = ranker.rank_all(case.link, bench.evidence(case), hidden=hidden)
    return ranker.offers(ranked, repairable)


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
        "false_offers": _share(alarms, alarms + silent),
        "table": {
            "repairable": {"offered": hits, "not_offered": misses},
            "not_repairable": {"offered": alarms, "not_offered": silent},
        },
    }


def _share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0
