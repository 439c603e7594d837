"""Ablation: the same model ranks the same links with one kind of evidence removed at a time.

The evidence is removed before retrieval, so candidates that only it would find are lost too. The model is not trained
again: the result shows what the model relies on, not what it could do without.
"""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from repair.evaluation.measures import measures
from repair.evaluation.outcomes import RankingResult
from repair.model import BrokenLink, Evidence, InLink
from repair.ranking.features import FEATURES, Matrix
from repair.ranking.learned import LearnedRanker
from repair.simulation.pseudobroken import BrokenCase
from repair.simulation.testbed import RankingTestbed
from repair.simulation.view import EvaluationView

_NOWHERE = "http://unknown.invalid/"
_SHOWN = ("R@1", "R@10", "MRR")


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingEvidence:
    """The evidence to remove: changes to the link; false for a removed kind; a pattern of features set to 0."""

    link: Mapping[str, Any] | None = None
    copy: bool = True
    inlinks: bool = True
    contexts: bool = True
    address: bool = True
    compared: bool = True
    moves: bool = True
    silent: str = ""


LACKS: Mapping[str, MissingEvidence] = {
    "nothing": MissingEvidence(),
    "anchor": MissingEvidence(link={"anchor": ""}),
    "url": MissingEvidence(address=False, compared=False, moves=False),
    "context": MissingEvidence(link={"before": "", "after": ""}, contexts=False),
    "source page": MissingEvidence(link={"source_url": None}),
    "copy": MissingEvidence(copy=False),
    "link neighbourhood": MissingEvidence(inlinks=False),
    "comparing addresses": MissingEvidence(compared=False),
    "known moves": MissingEvidence(moves=False),
    "anchor index": MissingEvidence(
        silent=r"(.*(\.anchors|\.called|\.calls)|anchors_length|known\.anchors)(/best)?\Z"
    ),
    "links of candidates": MissingEvidence(silent=r"(links_.*|hub|authority)(/best)?\Z"),
    "company": MissingEvidence(silent=r"company\..*"),
    "priors": MissingEvidence(silent=r"((body|title)_length|prior\..*)(/best)?\Z"),
}
"""By the name of what is removed. `url` keeps the links to the address, `context` is also removed from the links of
other pages; `copy` is only measured where copies are known.

The last four are about the candidates: anchors of links to them, their own links, the similarity of their texts to
pages around the lost one, their length and URL type.
"""


class AblatedView(EvaluationView):
    """A view of a bench's collection without some of the evidence."""

    def __init__(self, bench: RankingTestbed, lack: MissingEvidence) -> None:
        super().__init__(bench.collection)
        self._lack = lack
        self._url = ""

    def show_reduced(self, case: BrokenCase) -> BrokenLink:
        """Turn the view to a case; the link without the removed evidence."""
        self.show(case)
        self._url = case.link.url
        link = replace(case.link, **self._lack.link) if self._lack.link else case.link
        return link if self._lack.address else replace(link, url=_NOWHERE)

    def inlinks(self, target_url: str, limit: int = 100) -> tuple[InLink, ...]:
        """Links that lead to a URL, without what is removed."""
        if not self._lack.inlinks:
            return ()
        found = super().inlinks(self._url if target_url == _NOWHERE else target_url, limit)
        if self._lack.contexts:
            return found
        return tuple(replace(inlink, link=replace(inlink.link, before="", after="")) for inlink in found)


def ablation(
    bench: RankingTestbed,
    *,
    lacks: Mapping[str, MissingEvidence] = LACKS,
    tell: Callable[[int], Any] = lambda _: None,
) -> dict[str, dict[str, float]]:
    """R@1, R@10 and MRR without each kind of evidence; `tell` gets the number of links done."""
    lacks = {name: lack for name, lack in lacks.items() if lack.copy or bench.copied}
    views = {name: AblatedView(bench, lack) for name, lack in lacks.items()}
    rankers = {
        name: bench.ranker(views[name], moves=lack.moves, addresses=lack.compared)
        for name, lack in lacks.items()
    }
    silent = {name: _columns(lack.silent) for name, lack in lacks.items()}
    found: dict[str, list[RankingResult]] = {name: [] for name in lacks}
    for done, case in enumerate(bench.cases(), start=1):
        evidence = bench.evidence(case)
        for name, ranker in rankers.items():
            link = views[name].show_reduced(case)
            evidence_left = evidence if lacks[name].copy else ()
            found[name].append(_result(ranker, link, evidence_left, case, silent[name]))
        tell(done)
    tables = {name: measures(results, bench.plan.variant) for name, results in found.items()}
    return {name: {key: table[key] for key in _SHOWN} for name, table in tables.items()}


def _columns(silent: str) -> list[int]:
    """The columns of features that match a pattern, their normalised `/best` forms included."""
    return [at for at, name in enumerate(FEATURES) if silent and re.match(silent, name)]


def _result(
    ranker: LearnedRanker,
    link: BrokenLink,
    evidence_left: Sequence[Evidence],
    case: BrokenCase,
    silent: Sequence[int],
) -> RankingResult:
    started = time.perf_counter()
    pages, rows, _ = ranker.matrix(link, evidence_left, hidden=case.hidden)
    ranked, _ = ranker.judge(pages, _zero_columns(rows, silent))
    urls = [choice.page.url for choice in ranked[:100]]
    rank = urls.index(case.truth) if case.truth in urls else None
    return RankingResult(rank=rank, similar=(), seconds=time.perf_counter() - started)


def _zero_columns(rows: Matrix, silent: Sequence[int]) -> Matrix:
    if not silent:
        return rows
    quiet = rows.copy()
    quiet[:, list(silent)] = 0.0
    return quiet
