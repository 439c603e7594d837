"""Learning the ranking model from examples: two forests, their blend, and formulas that make confidences honest.

Everything that is chosen or calibrated is so on links that the forests in question have not seen: the links are dealt
into two halves by lot, one learns, the other is judged, and the other way round. Only then are the forests grown
again from all links. Examples count also in a poorer form (`examples.poorer`), for sites that tell less.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from sklearn.linear_model import LogisticRegression

from repair.features import FEATURES, Matrix
from repair.learn import boost
from repair.learn.examples import Examples, Flags, gone, groups, hard, poorer
from repair.rankmodel import FORMAT, PLAIN, VERSION, SavedForest, SavedModel, blended, margins, telling
from repair.trees import Forest, forest

BLENDS = (0.0, 0.1, 0.2, 0.4, 0.8, 1.6)
UNRELATED = 0.35
"""From this similarity to the lost page on, a page is of the same subject."""
_TOLERATED = 0.002  # of R@1, for a better choice where the page itself is gone
_IDENTITY: dict[str, Any] = {"max_iter": 180, "max_leaf_nodes": 8, "learning_rate": 0.12}
_LIKENESS: dict[str, Any] = {"max_iter": 60, "max_leaf_nodes": 8, "learning_rate": 0.2}


def saved(model: SavedModel) -> bytes:
    """The model as the bytes of its file."""
    return msgspec.json.encode(model) + b"\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What forests that had not seen these links say of them."""

    examples: Examples
    scores: Matrix
    alike: Matrix


def learnt(
    sets: Sequence[Examples], about: dict[str, Any], tell: Callable[[str], Any] = lambda _: None
) -> SavedModel:
    """A model out of examples of one or more collections."""
    lost = [gone(examples) for examples in sets]
    unrelated = [gone(examples, unlike=UNRELATED) for examples in sets]
    judged, judged_lost, judged_unrelated = _cross_judged(sets, lost, unrelated, tell)
    blend = _blend(judged, judged_lost)
    tell("all links")
    everything = [np.ones(len(examples.link), bool) for examples in sets]
    return SavedModel(
        format=FORMAT,
        version=VERSION,
        features=list(FEATURES),
        identity=_identity(sets, everything),
        likeness=_likeness(lost, [np.ones(len(examples.link), bool) for examples in lost]),
        blend=blend,
        confidence=_confidence([*judged, *judged_lost]),
        repairable=_repairable(judged, judged_unrelated, blend),
        about=about | {"R@1": {held.examples.name: _recall(held, blend) for held in judged}},
    )


def _cross_judged(
    sets: Sequence[Examples],
    lost: Sequence[Examples],
    unrelated: Sequence[Examples],
    tell: Callable[[str], Any],
) -> tuple[list[Held], list[Held], list[Held]]:
    halves = np.random.default_rng(1).integers(0, 2, max(examples.links for examples in sets)).astype(bool)
    found = [
        Held(examples=e, scores=np.zeros(len(e.link)), alike=np.zeros(len(e.link)))
        for e in (*sets, *lost, *unrelated)
    ]
    for half in (False, True):
        tell(f"half {int(half) + 1}")
        trees = _grown(_identity(sets, [halves[e.link] == half for e in sets]))
        alike = _grown(_likeness(lost, [halves[e.link] == half for e in lost]))
        for held in found:
            unseen = halves[held.examples.link] != half
            held.scores[unseen] = trees.scores(held.examples.rows[unseen])
            held.alike[unseen] = alike.scores(held.examples.rows[unseen])
    count = len(sets)
    return found[:count], found[count : 2 * count], found[2 * count :]


def _identity(sets: Sequence[Examples], seen: Sequence[Flags]) -> SavedForest:
    rows, answers = [], []
    for number, (examples, mine) in enumerate(zip(sets, seen, strict=True)):
        own = examples.taken(mine & examples.answerable())
        for form in (own, poorer(own, number)):
            kept = hard(form, form.rows[:, PLAIN].sum(axis=1), keep=12, share=0.03, seed=number)
            rows.append(form.rows[kept])
            answers.append(form.answer[kept])
    joined = np.concatenate(answers)
    return boost.classified(np.concatenate(rows), joined, np.ones(len(joined)), **_IDENTITY)


def _likeness(lost: Sequence[Examples], seen: Sequence[Flags]) -> SavedForest:
    rows, values = [], []
    for number, (examples, mine) in enumerate(zip(lost, seen, strict=True)):
        own = examples.taken(mine)
        kept = hard(own, own.similarity, keep=8, share=0.15, seed=number)
        rows.append(own.rows[kept])
        values.append(own.similarity[kept])
    return boost.regressed(np.concatenate(rows), np.concatenate(values), **_LIKENESS)


def _grown(saved: SavedForest) -> Forest:
    return forest(saved.trees, saved.base, len(FEATURES))


def _blend(judged: Sequence[Held], lost: Sequence[Held]) -> float:
    """How much likeness counts: as much as helps where pages are gone and costs nothing where they are not."""
    plain = np.mean([_recall(held, 0.0) for held in judged])
    good = [b for b in BLENDS if np.mean([_recall(held, b) for held in judged]) >= plain - _TOLERATED]
    return max(good, key=lambda b: float(np.mean([_similarity(held, b) for held in lost])))


def _recall(held: Held, blend: float) -> float:
    values = blended(held.scores, held.alike, blend)
    firsts = [of_link.start + int(values[of_link].argmax()) for of_link in groups(held.examples.link)]
    return float(held.examples.answer[firsts].sum() / held.examples.links)


def _similarity(held: Held, blend: float) -> float:
    values = blended(held.scores, held.alike, blend)
    firsts = [of_link.start + int(values[of_link].argmax()) for of_link in groups(held.examples.link)]
    return float(held.examples.similarity[firsts].mean())


def _confidence(judged: Sequence[Held]) -> dict[str, float]:
    """From the score of a candidate and its lead over the others to the probability that it is the page."""
    rows, right = [], []
    for held in judged:
        for of_link in groups(held.examples.link):
            scores = held.scores[of_link]
            top = np.argsort(-scores)[:5]
            rows.append(np.stack((scores[top], margins(scores)[top]), axis=1))
            right.append(held.examples.answer[of_link][top])
    return _fitted(("score", "margin"), np.concatenate(rows), np.concatenate(right))


def _repairable(judged: Sequence[Held], unrelated: Sequence[Held], blend: float) -> dict[str, float]:
    rows, labels = [], []
    for held, label in [*((held, True) for held in judged), *((held, False) for held in unrelated)]:
        values = blended(held.scores, held.alike, blend)
        for of_link in groups(held.examples.link):
            told = telling(held.scores[of_link], held.alike[of_link], values[of_link])
            rows.append(list(told.values()))
            labels.append(label)
    return _fitted(tuple(told), np.array(rows), np.array(labels))


def _fitted(names: Sequence[str], rows: Matrix, right: Any) -> dict[str, float]:
    model = LogisticRegression(C=10.0, max_iter=1000).fit(rows, right)
    weights = dict(zip(names, map(float, model.coef_[0]), strict=True))
    return weights | {"constant": float(model.intercept_[0])}
