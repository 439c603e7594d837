"""The bench: a collection whose links are broken by a plan, and our model to rank over it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from repair.collection.collection import Collection
from repair.evidence.savedcopy import SavedCopy
from repair.model import Evidence
from repair.ranking.learned import LearnedRanker
from repair.ranking.rankmodel import RankModel
from repair.simulation import pseudobroken
from repair.simulation.pseudobroken import BreakagePlan, BrokenCase, Variant
from repair.simulation.similarity import Similarity
from repair.simulation.view import EvaluationView

UNRELATED = 0.35
"""A page with at least this cosine to the lost page is about the same subject."""


class RankingTestbed:
    """All that evaluating a plan needs; `view` is the collection as the current case may see it.

    With `copied` an older version of every lost page is known, as if a copy or an archive had it; with `with_moves`,
    how other pages of a site that really moved have moved.
    """

    def __init__(
        self,
        plan: BreakagePlan,
        collection: Collection,
        model: RankModel | None,
        *,
        copied: bool = False,
        with_moves: bool = False,
    ) -> None:
        self.plan = plan
        self.collection = collection
        self.copied = copied
        self.view = EvaluationView(collection)
        self.likeness = Similarity(collection)
        self._model = model
        self._moves = pseudobroken.known_moves(plan, collection, with_moves=with_moves)

    def cases(self) -> Iterator[BrokenCase]:
        """The links under test, in order; the view is turned to each."""
        for case in pseudobroken.cases(self.plan):
            self.view.show(case, gone=self.plan.variant is Variant.GONE, copied=self.copied)
            yield case

    def evidence(self, case: BrokenCase) -> tuple[Evidence, ...]:
        """Evidence from an older version of the lost page, if one is known; the view must be turned to the case."""
        evidence = SavedCopy(self.view).find(case.link) if self.copied else None
        return (evidence,) if evidence else ()

    def ranker(
        self, view: EvaluationView | None = None, *, moves: bool = True, addresses: bool = True
    ) -> LearnedRanker:
        """Our model over `view`, by default the bench's own, with or without known moves and compared addresses."""
        return LearnedRanker(
            view or self.view,
            self._model,
            known_targets=(lambda link: self._moves.known_targets(link.url, self.collection.holds))
            if moves
            else lambda _: (),
            directories=self._moves.directories if moves else lambda _: {},
            compare_addresses=addresses and self.plan.variant is not Variant.KEPT,
        )

    def hidden(self, case: BrokenCase) -> frozenset[str]:
        """Addresses that may not be returned: those of the source page; for *gone* also those of the lost page."""
        truth = self.collection.page_number(case.truth)
        if self.plan.variant is not Variant.GONE or truth is None:
            return case.hidden
        return case.hidden | {case.truth, *self.collection.same(truth)}

    def of_subject(self, case: BrokenCase) -> frozenset[str]:
        """The addresses of the lost page and of every page about its subject; none when it is not saved."""
        truth = self.collection.page_number(case.truth)
        if truth is None:
            return frozenset()
        pages = self.collection.numbers()
        alike = self.likeness.to_all(truth)[self.likeness.places(pages)]
        near = [pages[at] for at in np.flatnonzero(alike >= UNRELATED)]
        return frozenset(page.url for page in self.collection.page_summaries(near).values())

    def numbers(self, urls: frozenset[str]) -> frozenset[int]:
        """The page numbers of the addresses that the collection has."""
        found = (self.collection.page_number(url) for url in urls)
        return frozenset(number for number in found if number is not None)


@contextmanager
def build_testbed(
    plan: BreakagePlan,
    cache: Path,
    model: RankModel | None,
    *,
    copied: bool = False,
    with_moves: bool = False,
) -> Iterator[RankingTestbed]:
    """Open the bench of a plan; without a model it computes features but cannot rank."""
    with pseudobroken.collection(plan, cache) as collection:
        yield RankingTestbed(plan, collection, model, copied=copied, with_moves=with_moves)
