"""Ranking by the learned model: clues, candidates, features, judgement, and the reasons in codes."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from repair import words
from repair.clues import ClueReader, Clues, Directories, Knowledge
from repair.errors import ModelMismatch
from repair.features import FEATURES, Matrix, Measurable, features
from repair.model import BrokenLink, Evidence
from repair.pages import Brief
from repair.pointers import Kind, Pointers
from repair.propose import Findable, pages_for
from repair.rank import Ranked, pointed
from repair.rankmodel import RankModel

OFFER_AT = 0.4
"""Below this probability that anything is worth offering, nothing is offered."""
_SURE = 0.8  # a page this likely is offered whatever is said of the whole
_MAYBE = 0.05
_LEAST_LIKENESS = 0.2
_LIKENESS_RATIO = 0.6
_REASON_AT = 0.5
# Which features tell a reason, each of them between 0 and 1.
_REASONS: Mapping[str, tuple[str, ...]] = {
    "anchor": ("anchor.title_dice", "anchor=title", "anchor.called"),
    "inlinks": ("inlinks.title_dice", "names=title"),
    "url": ("slug.title_dice", "slug=title", "tail=title", "address.same_slug"),
    "title": ("anchor=title", "slug=title", "names=title"),
    "context": ("context.body", "around.body"),
    "same_name": ("address.same_slug",),
    "copy": ("copy=title", "copy.title_dice", "copy.body_all"),
    "tags": ("tags.title",),
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
        is_stop_anchor: Callable[[str], bool] = words.is_stop_anchor,
        pointers: Pointers = lambda _: (),
        directories: Directories = lambda _: {},
        compare_addresses: bool = True,
    ) -> None:
        self._collection = collection
        self._model = model
        self._reader = ClueReader(
            collection,
            is_stop_anchor=is_stop_anchor,
            pointers=pointers,
            directories=directories,
            compare_addresses=compare_addresses,
        )

    def find(
        self, link: BrokenLink, evidence: Sequence[Evidence] = (), *, hidden: frozenset[str] = frozenset()
    ) -> tuple[Ranked, ...]:
        """Pages worth offering, best first; none when nothing is. `hidden` addresses are as if not held."""
        pages, rows, clues = self.matrix(link, evidence, hidden=hidden)
        judged, repairable = self.judged(pages, rows)
        # Known moves are among the features already; here they only give their reason.
        said = [pointer for pointer in clues.pointers if pointer.kind is not Kind.MOVE]
        ranked = _best_first(pointed(judged, said)) if said else judged
        if not ranked or (repairable < OFFER_AT and ranked[0].confidence < _SURE):
            return ()
        moves = {
            pointer.url
            for pointer in clues.pointers
            if pointer.kind is Kind.MOVE and pointer.confidence >= _REASON_AT
        }
        return tuple(_with_move(choice, moves) for choice in _worthwhile(ranked))

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
        reasons = _reasons(rows)
        found = (
            Ranked(
                page=page,
                score=float(judgement.values[at]),
                confidence=float(judgement.confidences[at]),
                likeness=float(judgement.likeness[at]),
                reasons=reasons[at],
            )
            for at, page in enumerate(pages)
        )
        return _best_first(found), judgement.repairable

    def matrix(
        self, link: BrokenLink, evidence: Sequence[Evidence] = (), *, hidden: frozenset[str] = frozenset()
    ) -> tuple[list[Brief], Matrix, Clues]:
        """The candidates of a link and their features; what learning starts from."""
        clues = self._reader.clues(link, evidence)
        found = pages_for(self._collection, clues)
        pages = [page for page in self._collection.briefs(list(found)).values() if page.url not in hidden]
        return pages, features(self._collection, clues, pages, found), clues


def _best_first(ranked: Iterable[Ranked]) -> tuple[Ranked, ...]:
    return tuple(sorted(ranked, key=lambda choice: (-choice.score, choice.page.url)))


def _worthwhile(ranked: Sequence[Ranked]) -> list[Ranked]:
    """The first, and the others that may be the page or say much of the same: a list full of noise helps nobody."""
    least = max(_LEAST_LIKENESS, _LIKENESS_RATIO * max(choice.likeness for choice in ranked))
    others = (each for each in ranked[1:] if each.confidence >= _MAYBE or each.likeness >= least)
    return [ranked[0], *others]


def _with_move(choice: Ranked, moves: Collection[str]) -> Ranked:
    if choice.page.url not in moves:
        return choice
    return replace(choice, reasons=(Kind.MOVE.value, *choice.reasons))


def _reasons(rows: Matrix) -> list[tuple[str, ...]]:
    """What speaks for each candidate, the strongest first; all at once, since there are a hundred."""
    strengths = np.stack([rows[:, columns].max(axis=1) for columns in _COLUMNS.values()], axis=1)
    told = []
    for row in strengths.tolist():
        named = [pair for pair in zip(row, _COLUMNS, strict=True) if pair[0] >= _REASON_AT]
        told.append(tuple(name for _, name in sorted(named, key=lambda pair: -pair[0])))
    return told
