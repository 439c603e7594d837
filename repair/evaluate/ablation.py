"""What each kind of evidence is worth: the same links ranked by the same model with one kind taken away at a time.

It is taken away before anything is asked, so that the pages that only it would have found are not found either. The
model is not taught anew: this tells what it leans on, not what it could do without.
"""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from repair.evaluate.bench import Bench
from repair.evaluate.measures import measures
from repair.evaluate.outcomes import Result
from repair.features import FEATURES, Matrix
from repair.learnedrank import LearnedRanker
from repair.model import BrokenLink, Evidence, InLink
from repair.simulate import Case
from repair.view import View

_NOWHERE = "http://unknown.invalid/"
_SHOWN = ("R@1", "R@10", "MRR")


@dataclass(frozen=True, slots=True, kw_only=True)
class Lack:
    """What is not known: changes to the link, the copy, links of other pages, the address; silent features."""

    link: Mapping[str, Any] | None = None
    copy: bool = True
    inlinks: bool = True
    contexts: bool = True
    address: bool = True
    compared: bool = True
    moves: bool = True
    silent: str = ""


LACKS: Mapping[str, Lack] = {
    "nothing": Lack(),
    "anchor": Lack(link={"anchor": ""}),
    "url": Lack(address=False, compared=False, moves=False),
    "context": Lack(link={"before": "", "after": ""}, contexts=False),
    "source page": Lack(link={"source_url": None}),
    "copy": Lack(copy=False),
    "link neighbourhood": Lack(inlinks=False),
    "comparing addresses": Lack(compared=False),
    "known moves": Lack(moves=False),
    "anchor index": Lack(silent=r"(.*(\.anchors|\.called|\.calls)|anchors_length|known\.anchors)(/best)?\Z"),
    "links of candidates": Lack(silent=r"(links_.*|hub|authority)(/best)?\Z"),
    "company": Lack(silent=r"company\..*"),
    "priors": Lack(silent=r"((body|title)_length|prior\..*)(/best)?\Z"),
}
"""By what is taken away. `url` leaves who links to the address, `context` also goes for the links of other pages;
`copy` is not measured where no copies are known.

The last four are about the candidates: words of links to them, their own links, how their texts agree with those of
pages around the lost one, their length and type of address.
"""


class Forgetful(View):
    """A view of a bench's collection in which some of the links' evidence is not there."""

    def __init__(self, bench: Bench, lack: Lack) -> None:
        super().__init__(bench.collection)
        self._lack = lack
        self._url = ""

    def turn(self, case: Case) -> BrokenLink:
        """Show a case; the link as far as it is known."""
        self.show(case)
        self._url = case.link.url
        link = replace(case.link, **self._lack.link) if self._lack.link else case.link
        return link if self._lack.address else replace(link, url=_NOWHERE)

    def inlinks(self, target_url: str, limit: int = 100) -> tuple[InLink, ...]:
        """Links that lead to a URL, if they are known at all."""
        if not self._lack.inlinks:
            return ()
        found = super().inlinks(self._url if target_url == _NOWHERE else target_url, limit)
        if self._lack.contexts:
            return found
        return tuple(replace(inlink, link=replace(inlink.link, before="", after="")) for inlink in found)


def ablation(
    bench: Bench, *, lacks: Mapping[str, Lack] = LACKS, tell: Callable[[int], Any] = lambda _: None
) -> dict[str, dict[str, float]]:
    """R@1, R@10 and MRR without each kind of evidence; `tell` hears how many links are done."""
    lacks = {name: lack for name, lack in lacks.items() if lack.copy or bench.copied}
    views = {name: Forgetful(bench, lack) for name, lack in lacks.items()}
    rankers = {
        name: bench.ranker(views[name], moves=lack.moves, addresses=lack.compared)
        for name, lack in lacks.items()
    }
    silent = {name: _columns(lack.silent) for name, lack in lacks.items()}
    found: dict[str, list[Result]] = {name: [] for name in lacks}
    for done, case in enumerate(bench.cases(), start=1):
        evidence = bench.evidence(case)
        for name, ranker in rankers.items():
            link = views[name].turn(case)
            told = evidence if lacks[name].copy else ()
            found[name].append(_result(ranker, link, told, case, silent[name]))
        tell(done)
    tables = {name: measures(results, bench.plan.variant) for name, results in found.items()}
    return {name: {key: table[key] for key in _SHOWN} for name, table in tables.items()}


def _columns(silent: str) -> list[int]:
    """Features by a pattern, with what is made of them per query: without the one the other is 0 as well."""
    return [at for at, name in enumerate(FEATURES) if silent and re.match(silent, name)]


def _result(
    ranker: LearnedRanker, link: BrokenLink, told: Sequence[Evidence], case: Case, silent: Sequence[int]
) -> Result:
    started = time.perf_counter()
    pages, rows, _ = ranker.matrix(link, told, hidden=case.hidden)
    ranked, _ = ranker.judged(pages, _silenced(rows, silent))
    urls = [choice.page.url for choice in ranked[:100]]
    rank = urls.index(case.truth) if case.truth in urls else None
    return Result(rank=rank, similar=(), seconds=time.perf_counter() - started)


def _silenced(rows: Matrix, silent: Sequence[int]) -> Matrix:
    if not silent:
        return rows
    quiet = rows.copy()
    quiet[:, list(silent)] = 0.0
    return quiet
