"""Ranking by the learned model: clues, candidates, features, judgement, and the reasons in codes."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import numpy as np

from repair.clues import ClueReader, Clues, Knowledge
from repair.errors import ModelMismatch
from repair.features import FEATURES, Matrix, Measurable, features
from repair.model import BrokenLink, Evidence
from repair.moves import Guess
from repair.pages import Brief
from repair.propose import Findable, pages_for
from repair.rank import Ranked
from repair.rankmodel import RankModel

OFFER_AT = 0.5
"""Below this probability that anything is worth offering, nothing is offered."""
_REASON_AT = 0.5
# Which features tell a reason, each of them between 0 and 1.
_REASONS: Mapping[str, tuple[str, ...]] = {
    "anchor": ("anchor.title_dice", "anchor=title", "anchor.called"),
    "inlinks": ("inlinks.title_dice", "names=title"),
    "url": ("slug.title_dice", "slug=title", "tail=title", "address.same_slug"),
    "title": ("anchor=title", "slug=title", "names=title"),
    "context": ("context.body", "around.body"),
    "same_name": ("address.same_slug",),
}
_COLUMNS = {name: [FEATURES.index(column) for column in columns] for name, columns in _REASONS.items()}


class Holdings(Knowledge, Findable, Measurable, Protocol):
    """All that ranking asks of a collection."""

    def briefs(self, pages: Sequence[int]) -> dict[int, Brief]:
        """What ranking needs of pages, by number."""


class LearnedRanker:
    """Finds and ranks held pages for a broken link."""

    def __init__(
        self,
        collection: Holdings,
        model: RankModel | None,
        *,
        stop_anchors: Sequence[str] = (),
        guesses: Callable[[str], Sequence[Guess]] | None = None,
        compare_addresses: bool = True,
    ) -> None:
        self._collection = collection
        self._model = model
        self._reader = ClueReader(
            collection, stop_anchors, guesses=guesses, compare_addresses=compare_addresses
        )

    def find(
        self, link: BrokenLink, evidence: Sequence[Evidence] = (), *, hidden: frozenset[str] = frozenset()
    ) -> tuple[Ranked, ...]:
        """Held pages, best first; none when nothing is worth offering. `hidden` addresses are as if not held."""
        ranked, repairable = self.ranked(link, evidence, hidden=hidden)
        return ranked if repairable >= OFFER_AT else ()

    def ranked(
        self, link: BrokenLink, evidence: Sequence[Evidence] = (), *, hidden: frozenset[str] = frozenset()
    ) -> tuple[tuple[Ranked, ...], float]:
        """Every candidate, best first, and how likely any is worth offering."""
        pages, rows, _ = self.matrix(link, evidence, hidden=hidden)
        return self.judged(pages, rows)

    def judged(self, pages: Sequence[Brief], rows: Matrix) -> tuple[tuple[Ranked, ...], float]:
        """Candidates with their features, best first, and how likely any is worth offering."""
        if self._model is None:
            raise ModelMismatch("no model to rank by")
        judgement = self._model.judge(rows)
        order = sorted(range(len(pages)), key=lambda at: (-judgement.values[at], pages[at].url))
        found = tuple(
            Ranked(
                page=pages[at],
                score=float(judgement.values[at]),
                confidence=float(judgement.confidences[at]),
                reasons=_reasons(rows[at]),
            )
            for at in order
        )
        return found, judgement.repairable

    def matrix(
        self, link: BrokenLink, evidence: Sequence[Evidence] = (), *, hidden: frozenset[str] = frozenset()
    ) -> tuple[list[Brief], Matrix, Clues]:
        """The candidates of a link and their features; what learning starts from."""
        clues = self._reader.clues(link, evidence)
        numbers = list(pages_for(self._collection, clues))
        pages = [page for page in self._collection.briefs(numbers).values() if page.url not in hidden]
        return pages, features(self._collection, clues, pages), clues


def _reasons(row: Matrix) -> tuple[str, ...]:
    strengths = {name: float(np.max(row[columns])) for name, columns in _COLUMNS.items()}
    told = [name for name, strength in strengths.items() if strength >= _REASON_AT]
    return tuple(sorted(told, key=lambda name: -strengths[name]))
