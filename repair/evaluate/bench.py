"""The bench: a collection in which links are broken as a plan says, and our model ready to rank over it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from repair import simulate
from repair.collection import Collection
from repair.learnedrank import LearnedRanker
from repair.model import Evidence
from repair.rankmodel import RankModel
from repair.similarity import Similarity
from repair.simulate import Case, Plan, Variant
from repair.sources.copy import OwnCopy
from repair.view import View


class Bench:
    """All that measuring a plan needs; `view` is the collection as the case shown last may see it.

    With `copied` an older version of every lost page is known, as if a copy or an archive had it.
    """

    def __init__(
        self, plan: Plan, collection: Collection, model: RankModel | None, *, copied: bool = False
    ) -> None:
        self.plan = plan
        self.collection = collection
        self.copied = copied
        self.view = View(collection)
        self.likeness = Similarity(collection)
        self._model = model
        self._moves = simulate.known_moves(plan, collection)

    def cases(self) -> Iterator[Case]:
        """The links under test, one after the other, the view turned to each."""
        for case in simulate.cases(self.plan):
            self.view.show(case, gone=self.plan.variant is Variant.GONE, copied=self.copied)
            yield case

    def evidence(self, case: Case) -> tuple[Evidence, ...]:
        """What the older version of the lost page says, where one is known; the view must be turned to the case."""
        told = OwnCopy(self.view).find(case.link) if self.copied else None
        return (told,) if told else ()

    def ranker(
        self, view: View | None = None, *, moves: bool = True, addresses: bool = True
    ) -> LearnedRanker:
        """Our model over the collection or another view of it; knowing moves and comparing addresses, or not."""
        return LearnedRanker(
            view or self.view,
            self._model,
            pointers=(lambda link: self._moves.pointers(link.url, self.collection.holds))
            if moves
            else lambda _: (),
            directories=self._moves.directories if moves else lambda _: {},
            compare_addresses=addresses and self.plan.variant is not Variant.KEPT,
        )

    def hidden(self, case: Case) -> frozenset[str]:
        """The addresses that may not be returned: of the page with the link; for *gone* also of the lost page."""
        truth = self.collection.page_number(case.truth)
        if self.plan.variant is not Variant.GONE or truth is None:
            return case.hidden
        return case.hidden | {case.truth, *self.collection.same(truth)}

    def numbers(self, urls: frozenset[str]) -> frozenset[int]:
        """The numbers of those addresses that are held."""
        found = (self.collection.page_number(url) for url in urls)
        return frozenset(number for number in found if number is not None)


@contextmanager
def bench(plan: Plan, cache: Path, model: RankModel | None, *, copied: bool = False) -> Iterator[Bench]:
    """The bench of a plan, as long as its collection is open; without a model there are features, but no ranking."""
    with simulate.collection(plan, cache) as collection:
        yield Bench(plan, collection, model, copied=copied)
