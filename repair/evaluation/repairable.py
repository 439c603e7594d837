"""Repairable or not (Bashir section 5.2): does the model know when nothing held is worth offering?

Every link is ranked twice: as it is, when its answer is held and may be returned, where it should be offered; and
with the answer and all pages of its subject hidden, where it should not.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from repair.evaluate.bench import Bench
from repair.learnedrank import OFFER_AT

UNRELATED = 0.35
"""From this cosine to the lost page on, a page is of the same subject."""


class Verdict(NamedTuple):
    """Whether a link could be repaired, and whether anything was offered."""

    repairable: bool
    offered: bool


def verdicts(bench: Bench, *, tell: Callable[[int], Any] = lambda _: None) -> Iterator[Verdict]:
    """Two for each link; links whose answer is not held, or may not be returned, are left out."""
    ranker = bench.ranker()
    for done, case in enumerate(bench.cases(), start=1):
        truth = bench.collection.page_number(case.truth)
        tell(done)
        if truth is None or case.truth in case.hidden:
            continue
        evidence = bench.evidence(case)
        _, likely = ranker.ranked(case.link, evidence, hidden=case.hidden)
        yield Verdict(True, likely >= OFFER_AT)
        bench.view.show(case, gone=True)
        hidden = case.hidden | _of_subject(bench, truth)
        _, likely = ranker.ranked(case.link, evidence, hidden=hidden)
        yield Verdict(False, likely >= OFFER_AT)


def _of_subject(bench: Bench, truth: int) -> frozenset[str]:
    alike = bench.likeness.to_all(truth)
    pages = bench.collection.numbers()
    near = np.flatnonzero(alike[bench.likeness.places(pages)] >= UNRELATED)
    found = bench.collection.briefs([pages[at] for at in near])
    return frozenset(page.url for page in found.values())


def confusion(found: Iterator[Verdict]) -> dict[str, Any]:
    """The two-by-two table, and what it comes to; precision and recall are of what is offered."""
    counts = {(kind, said): 0 for kind in (True, False) for said in (True, False)}
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
