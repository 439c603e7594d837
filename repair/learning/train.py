"""Trains the ranking model from examples: two forests, and the logistic formulas that calibrate confidences.

Parameters are chosen and calibrated by cross-validation: the links are split into two random halves, and forests
trained on one half score the other. Then the forests are trained again on all links. Each link is also used with some
evidence removed (`examples.drop_evidence`), for sites that offer less.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from sklearn.linear_model import LogisticRegression

from repair.learning import boosting
from repair.learning.examples import Examples, Flags, drop_evidence, gone_examples, groups, hard_candidates
from repair.ranking.features import FEATURES, Matrix
from repair.ranking.rankmodel import (
    FORMAT,
    PLAIN,
    VERSION,
    SavedForest,
    SavedModel,
    logit,
    ranking_signals,
    shares,
    sort_values,
)
from repair.ranking.trees import Forest, forest

TEMPERATURES = (0.5, 0.7, 1.0, 1.4, 2.0, 2.8)
UNRELATED = 0.35
"""A page at least this similar to the lost page is about the same subject."""
_REDUCED_FORMS = 4  # of each link, with some evidence removed
_IDENTITY_TREES = 300
_LIKENESS_TREES = 120


def save_model(model: SavedModel) -> bytes:
    """The bytes of the model's file."""
    return msgspec.json.encode(model) + b"\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldOutScores:
    """Scores of links by forests that were not trained on them."""

    examples: Examples
    scores: Matrix
    alike: Matrix


def learn_model(
    sets: Sequence[Examples], about: dict[str, Any], tell: Callable[[str], Any] = lambda _: None
) -> SavedModel:
    """Train a model on examples of one or more collections; sets without answers are about pages that are gone."""
    found = [examples for examples in sets if examples.answer.any()]
    lost = [examples for examples in sets if not examples.answer.any()] + [
        gone_examples(each) for each in found
    ]
    unrelated = [gone_examples(examples, unlike=UNRELATED) for examples in found]
    judged, judged_lost, judged_unrelated = _cross_validate(found, lost, unrelated, tell)
    held = _fit_logistic(
        [(features, 1) for features in _ranking_features(judged)]
        + [(features, 0) for features in _ranking_features(judged_lost)]
    )
    worth = [(features | {"held": logit(held, features)}, 1) for features in _ranking_features(judged)]
    noise = [
        (features | {"held": logit(held, features)}, 0) for features in _ranking_features(judged_unrelated)
    ]
    tell("all links")
    return SavedModel(
        format=FORMAT,
        version=VERSION,
        features=list(FEATURES),
        identity=_identity(found, [_all_rows(examples) for examples in found]),
        likeness=_likeness(lost, [_all_rows(examples) for examples in lost]),
        temperature=_temperature(judged),
        held=held,
        repairable=_fit_logistic(worth + noise),
        about=about | {"R@1": {each.examples.name: round(_recall(each, held), 4) for each in judged}},
    )


def _all_rows(examples: Examples) -> Flags:
    return np.ones(len(examples.link), bool)


def _cross_validate(
    sets: Sequence[Examples],
    lost: Sequence[Examples],
    unrelated: Sequence[Examples],
    tell: Callable[[str], Any],
) -> tuple[list[HeldOutScores], list[HeldOutScores], list[HeldOutScores]]:
    most = max(int(examples.link.max()) for examples in (*sets, *lost)) + 1
    halves = np.random.default_rng(1).integers(0, 2, most).astype(bool)
    found = [
        HeldOutScores(examples=e, scores=np.zeros(len(e.link)), alike=np.zeros(len(e.link)))
        for e in (*sets, *lost, *unrelated)
    ]
    for half in (False, True):
        tell(f"half {int(half) + 1}")
        trees = _load_forest(_identity(sets, [halves[e.link] == half for e in sets]))
        alike = _load_forest(_likeness(lost, [halves[e.link] == half for e in lost]))
        for held in found:
            unseen = halves[held.examples.link] != half
            held.scores[unseen] = trees.scores(held.examples.rows[unseen])
            held.alike[unseen] = alike.scores(held.examples.rows[unseen])
    count, gone_count = len(sets), len(lost)
    return found[:count], found[count : count + gone_count], found[count + gone_count :]


def _identity(sets: Sequence[Examples], seen: Sequence[Flags]) -> SavedForest:
    rows, answers, sizes = [], [], []
    for number, (examples, mine) in enumerate(zip(sets, seen, strict=True)):
        own = examples.subset(mine & examples.answerable())
        for form in (own, *(drop_evidence(own, number + 100 * more) for more in range(_REDUCED_FORMS))):
            kept = form.subset(
                hard_candidates(form, form.rows[:, PLAIN].sum(axis=1), keep=12, share=0.05, seed=number)
            )
            rows.append(kept.rows)
            answers.append(kept.answer)
            sizes += [of_link.stop - of_link.start for of_link in groups(kept.link)]
    return boosting.fit_ranking(np.concatenate(rows), np.concatenate(answers), sizes, trees=_IDENTITY_TREES)


def _likeness(lost: Sequence[Examples], seen: Sequence[Flags]) -> SavedForest:
    rows, values = [], []
    for number, (examples, mine) in enumerate(zip(lost, seen, strict=True)):
        own = examples.subset(mine)
        kept = hard_candidates(own, own.similarity, keep=8, share=0.15, seed=number)
        rows.append(own.rows[kept])
        values.append(own.similarity[kept])
    return boosting.fit_regression(np.concatenate(rows), np.concatenate(values), trees=_LIKENESS_TREES)


def _load_forest(saved: SavedForest) -> Forest:
    return forest(saved.trees, saved.base, len(FEATURES))


def _recall(held: HeldOutScores, formula: dict[str, float]) -> float:
    """R@1 over the links that have candidates."""
    right = 0
    for of_link in groups(held.examples.link):
        rows, scores, alike = held.examples.rows[of_link], held.scores[of_link], held.alike[of_link]
        values = sort_values(scores, alike, logit(formula, ranking_signals(rows, scores, alike)))
        right += bool(held.examples.answer[of_link][values.argmax()])
    return right / max(1, held.examples.links)


def _temperature(judged: Sequence[HeldOutScores]) -> float:
    """The temperature under which the answers are likeliest: how far differences of scores can be trusted."""
    answered = [
        (held.scores[of_link], held.examples.answer[of_link])
        for held in judged
        for of_link in groups(held.examples.link)
        if held.examples.answer[of_link].any()
    ]
    surprise = {
        t: -sum(math.log(max(1e-9, float(shares(scores, t)[answer][0]))) for scores, answer in answered)
        for t in TEMPERATURES
    }
    return min(surprise, key=lambda t: surprise[t])


def _ranking_features(judged: Sequence[HeldOutScores]) -> Iterator[dict[str, float]]:
    """The confidence features of each ranking; in a set with answers, links without their answer are left out."""
    for held in judged:
        answers = held.examples.answer
        for of_link in groups(held.examples.link):
            if answers[of_link].any() or not answers.any():
                yield ranking_signals(held.examples.rows[of_link], held.scores[of_link], held.alike[of_link])


def _fit_logistic(examples: Sequence[tuple[dict[str, float], int]]) -> dict[str, float]:
    """Fit a logistic formula; both classes have the same total weight."""
    names = tuple(examples[0][0])
    rows = np.array([list(features.values()) for features, _ in examples])
    means, scales = rows.mean(axis=0), np.maximum(rows.std(axis=0), 1e-6)
    model = LogisticRegression(C=0.3, max_iter=3000, class_weight="balanced")
    model.fit((rows - means) / scales, [label for _, label in examples])
    weights = model.coef_[0] / scales
    constant = float(model.intercept_[0] - (weights * means).sum())
    return dict(zip(names, map(float, weights), strict=True)) | {"constant": constant}
