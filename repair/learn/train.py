"""Learning the ranking model from examples: two forests, their blend, and formulas that make confidences honest.

Everything that is chosen or calibrated is so on links that the forests in question have not seen: the links are dealt
into two halves by lot, one learns, the other is judged, and the other way round. Only then are the forests grown
again from all links. Examples count also in poorer forms (`examples.poorer`), for sites that tell less.
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
from repair.rankmodel import FORMAT, PLAIN, VERSION, SavedForest, SavedModel, confidence, margins, telling
from repair.trees import Forest, forest

BLENDS = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8)
UNRELATED = 0.35
"""From this similarity to the lost page on, a page is of the same subject."""
_TOLERATED = 0.002  # of R@1, for a better choice where the page itself is gone
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
    formula = _confidence([*judged, *judged_lost])
    blend = _blend(judged, judged_lost, formula)
    tell("all links")
    return SavedModel(
        format=FORMAT,
        version=VERSION,
        features=list(FEATURES),
        identity=_identity(found, [_all(examples) for examples in found]),
        likeness=_likeness(lost, [_all(examples) for examples in lost]),
        blend=blend,
        confidence=formula,
        repairable=_repairable(judged, judged_unrelated, blend, formula),
        about=about
        | {"R@1": {held.examples.name: round(_recall(held, blend, formula), 4) for held in judged}},
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


def _firsts(held: Held, blend: float, formula: dict[str, float]) -> list[int]:
    """The candidate that comes first, of each link."""
    found = []
    for of_link in groups(held.examples.link):
        values = confidence(formula, held.scores[of_link]) + blend * held.alike[of_link]
        found.append(of_link.start + int(values.argmax()))
    return found


def _blend(judged: Sequence[Held], lost: Sequence[Held], formula: dict[str, float]) -> float:
    """How much likeness counts: as much as helps where pages are gone and costs nothing where they are not."""
    recalls = {b: np.mean([_recall(held, b, formula) for held in judged]) for b in BLENDS}
    good = [b for b in BLENDS if recalls[b] >= recalls[0.0] - _TOLERATED]
    return max(good, key=lambda b: float(np.mean([_similarity(held, b, formula) for held in lost])))


def _recall(held: Held, blend: float, formula: dict[str, float]) -> float:
    return float(held.examples.answer[_firsts(held, blend, formula)].mean())


def _similarity(held: Held, blend: float, formula: dict[str, float]) -> float:
    return float(held.examples.similarity[_firsts(held, blend, formula)].mean())


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


def _repairable(
    judged: Sequence[Held], unrelated: Sequence[Held], blend: float, formula: dict[str, float]
) -> dict[str, float]:
    rows, labels = [], []
    for held, label in [*((held, True) for held in judged), *((held, False) for held in unrelated)]:
        for of_link in groups(held.examples.link):
            sure, alike = confidence(formula, held.scores[of_link]), held.alike[of_link]
            best = int((sure + blend * alike).argmax())
            told = telling(held.examples.rows[of_link], sure, alike, best)
            rows.append(list(told.values()))
            labels.append(label)
    return _fitted(tuple(told), np.array(rows), np.array(labels))


def _fitted(names: Sequence[str], rows: Matrix, right: Any) -> dict[str, float]:
    model = LogisticRegression(C=1.0, max_iter=2000).fit(rows, right)
    weights = dict(zip(names, map(float, model.coef_[0]), strict=True))
    return weights | {"constant": float(model.intercept_[0])}
