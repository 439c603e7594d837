"""Trains a school's own model: trees on top of the default ranking, which correct it where the school's pages differ.

A model from the school's links alone forgets what many sites taught, and adding two whole models gained less
(docs/evaluation.md). So boosting goes on from the scores of the default model: what it ranks right needs no trees.
How sure a ranking is, and when to offer a list, the default learnt on sites that it had not seen; it depends on how
far scores are apart, so all scores are scaled down until wrong pages are no further apart than before. Both are then
fitted to the school (`owncalibration`), on rankings of one half of its links by trees that grew on the other.
Training always starts from the default, never from an earlier model of the school, so nothing piles up.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

import msgspec
import numpy as np

from repair.learning import boosting
from repair.learning.examples import Examples, ExampleSets, Flags, drop_evidence, groups, hard_candidates
from repair.learning.owncalibration import OwnRankings, own_sureness, own_threshold
from repair.learning.train import judge_rankings, of_links
from repair.ranking import rankmodel
from repair.ranking.features import FEATURES, Matrix
from repair.ranking.rankmodel import PLAIN, SIGNALS, RankModel, SavedForest, SavedModel
from repair.ranking.trees import forest
from repair.simulation.pseudobroken import Variant

VARIANTS = (Variant.KEPT, Variant.MOVED, Variant.READDRESSED)
"""The ways of breaking links that these trees are trained on: those with an answer, and without simulated copies."""
KINDS = ("found", "unrelated")
"""What the trees and the fitting see of each link."""
_TREES = 150
_LEAST_FITTED = 60  # links in each half; with fewer the default's limits stay
_LEAST = 1e-6
_REDUCED_FORMS = 2  # of each link, with some evidence removed


@dataclass(frozen=True, slots=True, kw_only=True)
class _GrownTrees:
    """Trees on top of the default's, and the scale of the scores of both together."""

    own: SavedForest
    scale: float


def learn_on_top(sets: Sequence[ExampleSets], about: dict[str, Any], base: bytes | None = None) -> SavedModel:
    """The default model, or another as a file, and trees trained on examples; raises ModelMismatch when it does not
    fit.

    Sets that have links without any page of their subject also tell when to offer a list, and how sure to be.
    """
    default = rankmodel.default()
    grown = _grow(sets, default)
    fitted = _fit(sets, default)
    saved = _saved_default()
    # The default may be older than some of our features: these come after those that its trees know by number.
    names = [*saved.features, *(name for name in FEATURES if name not in saved.features)]
    places = [names.index(name) for name in FEATURES]
    trees = [*saved.identity.trees, *(_renumbered(tree, places) for tree in grown.own.trees)]
    identity = SavedForest(
        base=grown.scale * saved.identity.base, trees=[_scaled(tree, grown.scale) for tree in trees]
    )
    return msgspec.structs.replace(
        saved,
        features=names,
        identity=identity,
        right=SavedForest(base=saved.right.base + own_sureness(fitted), trees=saved.right.trees),
        offer_at=own_threshold(fitted, saved.offer_at),
        about=about | {"on top of": saved.about},
    )


def _grow(sets: Sequence[ExampleSets], default: RankModel) -> _GrownTrees:
    forms = [form for each in sets for form in _forms(each.found)]
    rows, answers = (np.concatenate([getattr(form, name) for form in forms]) for name in ("rows", "answer"))
    sizes = [of_link.stop - of_link.start for form in forms for of_link in groups(form.link)]
    before = default.identity.scores(rows)
    own = boosting.fit_ranking(rows, answers, sizes, trees=_TREES, start=before)
    after = before + forest(own.trees, own.base, len(FEATURES)).scores(rows)
    wrong_before, wrong_after = (_wrong_margin(scores, answers, sizes) for scores in (before, after))
    return _GrownTrees(own=own, scale=min(1.0, wrong_before / max(_LEAST, wrong_after)))


def _fit(sets: Sequence[ExampleSets], default: RankModel) -> OwnRankings:
    """Rankings of each half of the links by trees that grew on the other, where the same links were also ranked
    without any page of their subject."""
    used = [each for each in sets if len(each.unrelated.link)]
    most = max((int(each.found.link.max()) + 1 for each in used), default=0)
    first = np.random.default_rng(1).integers(0, 2, most).astype(bool)
    halves = [of_links(used, first), of_links(used, ~first)]
    if min(sum(_answered(each) for each in half) for half in halves) < _LEAST_FITTED:
        halves = []
    signals: list[Matrix] = []
    right: list[bool] = []
    unrelated: list[bool] = []
    for known, others in zip(halves, halves[::-1], strict=True):
        grown = _grow(known, default)
        own = forest(grown.own.trees, grown.own.base, len(FEATURES))
        for each in others:
            for is_unrelated, examples in ((False, each.found), (True, each.unrelated)):
                scores = grown.scale * (default.identity.scores(examples.rows) + own.scores(examples.rows))
                for _, is_right, _, found in judge_rankings(examples, scores):
                    signals.append(found)
                    right.append(is_right and not is_unrelated)
                    unrelated.append(is_unrelated)
    table = np.array(signals, np.float32).reshape(-1, len(SIGNALS))
    return OwnRankings(
        offer=default.repairable.scores(table),
        sure=default.right.scores(table),
        right=np.array(right, bool),
        unrelated=np.array(unrelated, bool),
    )


def _answered(each: ExampleSets) -> int:
    return each.found.subset(each.found.answerable()).links


def _forms(found: Examples) -> Iterator[Examples]:
    """The links that have an answer, as they are and with some evidence removed; hopeless candidates are left out."""
    links = found.subset(found.answerable())
    for seed in range(_REDUCED_FORMS + 1):
        form = drop_evidence(links, seed) if seed else links
        plain = form.rows[:, PLAIN].sum(axis=1)
        yield form.subset(hard_candidates(form, plain, keep=12, share=0.05, seed=seed))


def _wrong_margin(scores: Matrix, answers: Flags, sizes: Sequence[int]) -> float:
    """How far the best wrong candidate of a link is ahead of the next, on average."""
    margins = []
    for of_link, is_answer in zip(
        np.split(scores, np.cumsum(sizes)[:-1]), np.split(answers, np.cumsum(sizes)[:-1]), strict=True
    ):
        wrong = np.sort(of_link[~is_answer])
        if len(wrong) > 1:
            margins.append(wrong[-1] - wrong[-2])
    return float(np.mean(margins)) if margins else 1.0


def _renumbered(tree: dict[str, list[float]], places: Sequence[int]) -> dict[str, list[float]]:
    return tree | {"feature": [places[int(feature)] for feature in tree["feature"]]}


def _scaled(tree: dict[str, list[float]], scale: float) -> dict[str, list[float]]:
    return tree | {"value": [float(f"{scale * value:.6g}") for value in tree["value"]]}


def _saved_default() -> SavedModel:
    data = (resources.files("repair.ranking") / "models" / "default.json").read_bytes()
    return msgspec.json.decode(data, type=SavedModel)
