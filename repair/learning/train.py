"""Learning the ranking model from examples: two forests, and the formulas that make confidences honest.

Everything that is chosen or calibrated is so on links that the forests in question have not seen: the links are dealt
into two halves by lot, one learns, the other is judged, and the other way round. Only then are the forests grown
again from all links. Examples count also in poorer forms (`examples.poorer`), for sites that tell less.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from sklearn.linear_model import LogisticRegression

from repair.features import FEATURES, Matrix
from repair.learn import boost
from repair.learn.examples import Examples, Flags, gone, groups, hard, poorer
from repair.rankmodel import (
    FORMAT,
    PLAIN,
    VERSION,
    SavedForest,
    SavedModel,
    logit,
    ordered,
    shares,
    telling,
)
from repair.trees import Forest, forest

TEMPERATURES = (0.5, 0.7, 1.0, 1.4, 2.0, 2.8)
UNRELATED = 0.35
"""From this similarity to the lost page on, a page is of the same subject."""
_POORER = 4  # poorer forms of each link
_IDENTITY_TREES = 300
_LIKENESS_TREES = 120


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
    """A model out of examples of one or more collections; those without answers are of pages that are gone."""
    found = [examples for examples in sets if examples.answer.any()]
    lost = [examples for examples in sets if not examples.answer.any()] + [gone(each) for each in found]
    unrelated = [gone(examples, unlike=UNRELATED) for examples in found]
    judged, judged_lost, judged_unrelated = _cross_judged(found, lost, unrelated, tell)
    held = _fitted([(told, 1) for told in _told(judged)] + [(told, 0) for told in _told(judged_lost)])
    worth = [(told | {"held": logit(held, told)}, 1) for told in _told(judged)]
    noise = [(told | {"held": logit(held, told)}, 0) for told in _told(judged_unrelated)]
    tell("all links")
    return SavedModel(
        format=FORMAT,
        version=VERSION,
        features=list(FEATURES),
        identity=_identity(found, [_all(examples) for examples in found]),
        likeness=_likeness(lost, [_all(examples) for examples in lost]),
        temperature=_temperature(judged),
        held=held,
        repairable=_fitted(worth + noise),
        about=about | {"R@1": {each.examples.name: round(_recall(each, held), 4) for each in judged}},
    )


def _all(examples: Examples) -> Flags:
    return np.ones(len(examples.link), bool)


def _cross_judged(
    sets: Sequence[Examples],
    lost: Sequence[Examples],
    unrelated: Sequence[Examples],
    tell: Callable[[str], Any],
) -> tuple[list[Held], list[Held], list[Held]]:
    most = max(int(examples.link.max()) for examples in (*sets, *lost)) + 1
    halves = np.random.default_rng(1).integers(0, 2, most).astype(bool)
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
    count, gone_count = len(sets), len(lost)
    return found[:count], found[count : count + gone_count], found[count + gone_count :]


def _identity(sets: Sequence[Examples], seen: Sequence[Flags]) -> SavedForest:
    rows, answers, sizes = [], [], []
    for number, (examples, mine) in enumerate(zip(sets, seen, strict=True)):
        own = examples.taken(mine & examples.answerable())
        for form in (own, *(poorer(own, number + 100 * more) for more in range(_POORER))):
            kept = form.taken(hard(form, form.rows[:, PLAIN].sum(axis=1), keep=12, share=0.05, seed=number))
            rows.append(kept.rows)
            answers.append(kept.answer)
            sizes += [of_link.stop - of_link.start for of_link in groups(kept.link)]
    return boost.ranked(np.concatenate(rows), np.concatenate(answers), sizes, trees=_IDENTITY_TREES)


def _likeness(lost: Sequence[Examples], seen: Sequence[Flags]) -> SavedForest:
    rows, values = [], []
    for number, (examples, mine) in enumerate(zip(lost, seen, strict=True)):
        own = examples.taken(mine)
        kept = hard(own, own.similarity, keep=8, share=0.15, seed=number)
        rows.append(own.rows[kept])
        values.append(own.similarity[kept])
    return boost.regressed(np.concatenate(rows), np.concatenate(values), trees=_LIKENESS_TREES)


def _grown(saved: SavedForest) -> Forest:
    return forest(saved.trees, saved.base, len(FEATURES))


def _recall(held: Held, formula: dict[str, float]) -> float:
    """R@1 over the links that have candidates."""
    right = 0
    for of_link in groups(held.examples.link):
        rows, scores, alike = held.examples.rows[of_link], held.scores[of_link], held.alike[of_link]
        values = ordered(scores, alike, logit(formula, telling(rows, scores, alike)))
        right += bool(held.examples.answer[of_link][values.argmax()])
    return right / max(1, held.examples.links)


def _temperature(judged: Sequence[Held]) -> float:
    """The one under which the answers' shares are likeliest: how far differences of scores are to be believed."""
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


def _told(judged: Sequence[Held]) -> Iterator[dict[str, float]]:
    """What each ranking tells. Links whose answer is no candidate are left out where there are answers."""
    for held in judged:
        answers = held.examples.answer
        for of_link in groups(held.examples.link):
            if answers[of_link].any() or not answers.any():
                yield telling(held.examples.rows[of_link], held.scores[of_link], held.alike[of_link])


def _fitted(examples: Sequence[tuple[dict[str, float], int]]) -> dict[str, float]:
    """A logistic formula; both kinds count alike, however many there are of each."""
    names = tuple(examples[0][0])
    rows = np.array([list(told.values()) for told, _ in examples])
    means, scales = rows.mean(axis=0), np.maximum(rows.std(axis=0), 1e-6)
    model = LogisticRegression(C=0.3, max_iter=3000, class_weight="balanced")
    model.fit((rows - means) / scales, [label for _, label in examples])
    weights = model.coef_[0] / scales
    constant = float(model.intercept_[0] - (weights * means).sum())
    return dict(zip(names, map(float, weights), strict=True)) | {"constant": constant}
