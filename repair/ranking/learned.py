"""Ranking by the learned model: query features, candidates, features, judgement, and reason codes."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from repair.collection.pages import PageSummary
from repair.errors import ModelMismatch
from repair.knowntargets import FindKnownTargets, TargetKind
from repair.model import BrokenLink, Evidence
from repair.ranking.candidates import NumberSearch, pages_for
from repair.ranking.features import FEATURES, Matrix, VectorSource, features
from repair.ranking.plain import RankedPage, raise_known_targets
from repair.ranking.queryfeatures import Directories, FeatureSource, QueryFeatureReader, QueryFeatures
from repair.ranking.rankmodel import RankModel
from repair.text import words

_SURE = 0.8  # a known target this likely is offered whatever the model says of the whole list
_MAYBE = 0.05
_LEAST_LIKENESS = 0.2
_LIKENESS_RATIO = 0.6
_REASON_AT = 0.5
# The features that give a reason, each between 0 and 1.
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
_NAMES = tuple(_REASONS)
_COLUMNS = [FEATURES.index(column) for columns in _REASONS.values() for column in columns]
_STARTS = np.cumsum([0, *map(len, _REASONS.values())])[:-1]


class RankableCollection(FeatureSource, NumberSearch, VectorSource, Protocol):
    """What ranking needs from a collection."""

    def page_summaries(self, pages: Sequence[int]) -> dict[int, PageSummary]:
        """What ranking needs of pages, by number."""


class LearnedRanker:
    """Finds and ranks saved pages for a broken link."""

    def __init__(
        self,
        collection: RankableCollection,
        model: RankModel | None,
        *,
        is_stop_anchor: Callable[[str], bool] = words.is_stop_anchor,
        known_targets: FindKnownTargets = lambda _: (),
        directories: Directories = lambda _: {},
        compare_addresses: bool = True,
    ) -> None:
        self._collection = collection
        self._model = model
        self._reader = QueryFeatureReader(
            collection,
            is_stop_anchor=is_stop_anchor,
            known_targets=known_targets,
            directories=directories,
            compare_addresses=compare_addresses,
        )

    def find(
        self, link: BrokenLink, evidence: Sequence[Evidence] = (), *, hidden: frozenset[str] = frozenset()
    ) -> tuple[RankedPage, ...]:
        """Pages worth offering, best first; none when nothing is. `hidden` URLs are treated as not saved."""
        pages, rows, query_features = self.matrix(link, evidence, hidden=hidden)
        judged, repairable = self.judge(pages, rows)
        # Known moves are among the features already; here they only add their reason.
        targets = [target for target in query_features.known_targets if target.kind is not TargetKind.MOVE]
        ranked = _best_first(raise_known_targets(judged, targets)) if targets else judged
        is_known = bool(ranked and targets) and ranked[0].confidence >= _SURE
        if not (is_known or self.offers(ranked, repairable)):
            return ()
        moves = {
            target.url
            for target in query_features.known_targets
            if target.kind is TargetKind.MOVE and target.confidence >= _REASON_AT
        }
        return tuple(_with_move_reason(choice, moves) for choice in _worthwhile(ranked))

    def offers(self, ranked: Sequence[RankedPage], repairable: float) -> bool:
        """Whether a ranking is worth showing, by the probability that any of it is worth offering."""
        return bool(ranked) and self._model is not None and repairable >= self._model.offer_at

    def rank_all(
        self, link: BrokenLink, evidence: Sequence[Evidence] = (), *, hidden: frozenset[str] = frozenset()
    ) -> tuple[tuple[RankedPage, ...], float]:
        """Every candidate, best first, and the probability that any is worth offering."""
        pages, rows, _ = self.matrix(link, evidence, hidden=hidden)
        return self.judge(pages, rows)

    def judge(self, pages: Sequence[PageSummary], rows: Matrix) -> tuple[tuple[RankedPage, ...], float]:
        """Candidates with their features, best first, and the probability that any is worth offering."""
        if self._model is None:
            raise ModelMismatch("no ranking model")
        judgement = self._model.judge(rows)
        reasons = _reasons(rows)
        found = (
            RankedPage(
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
    ) -> tuple[list[PageSummary], Matrix, QueryFeatures]:
        """The candidates of a link and their features; training uses them too."""
        query_features = self._reader.read(link, evidence)
        found = pages_for(self._collection, query_features)
        pages = [
            page for page in self._collection.page_summaries(list(found)).values() if page.url not in hidden
        ]
        return pages, features(self._collection, query_features, pages, found), query_features


def _best_first(ranked: Iterable[RankedPage]) -> tuple[RankedPage, ...]:
    return tuple(sorted(ranked, key=lambda choice: (-choice.score, choice.page.url)))


def _worthwhile(ranked: Sequence[RankedPage]) -> list[RankedPage]:
    """The first page, and others that are likely or similar enough: a list full of noise helps nobody."""
    least = max(_LEAST_LIKENESS, _LIKENESS_RATIO * max(choice.likeness for choice in ranked))
    others = (each for each in ranked[1:] if each.confidence >= _MAYBE or each.likeness >= least)
    return [ranked[0], *others]


def _with_move_reason(choice: RankedPage, moves: Collection[str]) -> RankedPage:
    if choice.page.url not in moves:
        return choice
    return replace(choice, reasons=(TargetKind.MOVE.value, *choice.reasons))


def _reasons(rows: Matrix) -> list[tuple[str, ...]]:
    """The reasons for each candidate, strongest first; computed for all at once, since there are a hundred."""
    strengths = np.maximum.reduceat(rows[:, _COLUMNS], _STARTS, axis=1)
    order = np.argsort(-strengths, axis=1, kind="stable").tolist()
    counts = (strengths >= _REASON_AT).sum(axis=1).tolist()
    return [
        tuple(_NAMES[at] for at in strongest[:count]) for strongest, count in zip(order, counts, strict=True)
    ]
