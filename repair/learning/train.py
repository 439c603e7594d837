"""Trains the ranking model from examples: two forests of candidates, two of rankings, and the threshold to offer at.

What the second two see must be what a school sees on a site that nobody trained on. So they are trained on rankings
of sites left out: forests trained on all other sites score each site (of one site alone, forests trained on half of
its links score the other half). Every link is there three times, alike in all but the truth: with its page, without
it, and without all pages of its subject; and each again with some evidence removed (`examples.drop_evidence`). Then
the first two forests are trained again on all links.
"""

import math
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from repair.learning import boosting
from repair.learning.examples import Examples, ExampleSets, Flags, drop_evidence, groups, hard_candidates
from repair.learning.owncalibration import FALSE_OFFER_COST
from repair.ranking.features import FEATURES, Matrix
from repair.ranking.rankmodel import (
    FORMAT,
    PLAIN,
    RISING,
    SIGNALS,
    VERSION,
    SavedForest,
    SavedModel,
    ranking_signals,
    shares,
)
from repair.ranking.trees import Forest, forest

Names = npt.NDArray[np.str_]

_THRESHOLDS = np.arange(0.1, 0.95, 0.02)
TEMPERATURES = (0.5, 0.7, 1.0, 1.4, 2.0, 2.8)
_REDUCED_FORMS = 2  # of each link, with some evidence removed
_IDENTITY_TREES = 300
_LIKENESS_TREES = 120
_SURENESS_TREES = 100
_OFFER_TREES = 400  # with 100, of the right pages .073 are not shown at 5 % false offers, with 400 .060
_GONE_PER_FOUND = 0.03
"""How many links whose page is gone weigh as much as one whose page is there, where confidence is learnt.

Confidence is shown only with a list; that there is something to list is the other forest's judgement.
"""
_ALIKE, _ALIKE_WEIGHT = 0.5, 0.07
"""A page this similar to one that is gone is worth offering. Such links weigh little: they are hard to tell from
those where nothing is alike, and pages that are there must be offered first of all."""


def save_model(model: SavedModel) -> bytes:
    """The bytes of the model's file."""
    return msgspec.json.encode(model) + b"\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRankings:
    """Rankings by forests that were not trained on their site, a row each, and what is true of them.

    `kind` tells which pages were hidden, by the names of ExampleSets; `is_full` whether all evidence was there;
    `alike` how similar the first page is to the lost one.
    """

    name: Names
    site: Names
    kind: Names
    is_full: Flags
    held: Flags
    right: Flags
    alike: Matrix
    signals: Matrix

    def subset(self, kept: Flags) -> "JudgedRankings":
        """Only some of them."""
        return JudgedRankings(**{name: getattr(self, name)[kept] for name in self.__slots__})


def learn_model(
    sets: Sequence[ExampleSets], about: dict[str, Any], tell: Callable[[str], Any] = lambda _: None
) -> SavedModel:
    """Train a model on examples of one or more collections; sets without answers are about pages that are gone."""
    made = _RankingForms()
    judged, temperature = _judge_left_out(sets, made, tell)
    tell("all links")
    return SavedModel(
        format=FORMAT,
        version=VERSION,
        features=list(FEATURES),
        signals=list(SIGNALS),
        identity=_identity(sets, made),
        likeness=_likeness(sets),
        right=_fit_right(judged),
        repairable=_fit_repairable(judged),
        temperature=temperature,
        offer_at=_choose_threshold(judged),
        about=about | {"R@1 left out": _recalls(judged)},
    )


def _judge_left_out(
    sets: Sequence[ExampleSets], made: "_RankingForms", tell: Callable[[str], Any]
) -> tuple[JudgedRankings, float]:
    """All rankings, each by forests that do not know its site, and the temperature of the scores."""
    rankings: list[tuple[Any, ...]] = []
    answered: list[tuple[Matrix, Flags]] = []
    for title, known, left_out in _folds(sets):
        tell(f"without {title}")
        identity = _load_forest(_identity(known, made))
        for each in left_out:
            for kind, examples in (("found", each.found), ("gone", each.gone), ("unrelated", each.unrelated)):
                for is_full, form in ((True, examples), (False, drop_evidence(examples, 7))):
                    scores = identity.scores(form.rows)
                    rankings += (
                        (each.name, title, kind, is_full, *judged) for judged in judge_rankings(form, scores)
                    )
                    if kind == "found" and is_full:
                        answered += _answered(form, scores)
    columns = [np.array(column) for column in zip(*rankings, strict=True)]
    names = ("name", "site", "kind", "is_full", "held", "right", "alike", "signals")
    return JudgedRankings(**dict(zip(names, columns, strict=True))), _temperature(answered)


def _folds(
    sets: Sequence[ExampleSets],
) -> Iterator[tuple[str, Sequence[ExampleSets], Sequence[ExampleSets]]]:
    """Each site, what to train on and what to judge: all other sites, or of one site alone half of its links."""
    sites = sorted({each.site for each in sets})
    if len(sites) > 1:
        for site in sites:
            yield (
                site,
                [each for each in sets if each.site != site],
                [each for each in sets if each.site == site],
            )
        return
    most = max(int(each.found.link.max()) for each in sets) + 1
    first = np.random.default_rng(1).integers(0, 2, most).astype(bool)
    halves = [of_links(sets, first), of_links(sets, ~first)]
    yield "the first half", halves[1], halves[0]
    yield "the second half", halves[0], halves[1]


def of_links(sets: Sequence[ExampleSets], chosen: Flags) -> list[ExampleSets]:
    """The same sets with the chosen links only, by their numbers."""
    return [
        replace(
            each,
            found=each.found.subset(chosen[each.found.link]),
            gone=each.gone.subset(chosen[each.gone.link]),
            unrelated=each.unrelated.subset(chosen[each.unrelated.link]),
        )
        for each in sets
    ]


def judge_rankings(examples: Examples, scores: Matrix) -> Iterator[tuple[bool, bool, float, Matrix]]:
    """Of each link whether its answer is a candidate, whether it is first, how similar the first is; and signals."""
    for of_link in groups(examples.link):
        answer, first = examples.answer[of_link], of_link.start + int(scores[of_link].argmax())
        signals = ranking_signals(examples.rows[of_link], scores[of_link])
        yield bool(answer.any()), bool(examples.answer[first]), float(examples.similarity[first]), signals


class _RankingForms:
    """The candidates to learn ranking from, of each set in several forms; made once, since every fold uses them."""

    def __init__(self) -> None:
        self._made: dict[
            int, tuple[ExampleSets, list[Examples]]
        ] = {}  # with the set, so that its id stays its own

    def of(self, each: ExampleSets) -> list[Examples]:
        """The links as they are, and in several forms with some evidence removed; none without an answer."""
        if id(each) not in self._made:
            self._made[id(each)] = (each, list(self._make(each)) if each.is_answered else [])
        return self._made[id(each)][1]

    def _make(self, each: ExampleSets) -> Iterator[Examples]:
        own = each.found.subset(each.found.answerable())
        seed = zlib.crc32(each.name.encode()) % 10_000
        for number in range(_REDUCED_FORMS + 1):
            form = drop_evidence(own, seed + number) if number else own
            plain = form.rows[:, PLAIN].sum(axis=1)
            yield form.subset(hard_candidates(form, plain, keep=12, share=0.05, seed=seed))


def _identity(sets: Sequence[ExampleSets], made: _RankingForms) -> SavedForest:
    """The forest that ranks; those that score a site left out are as large, so that their scores lie as far apart."""
    chosen = [form for each in sets for form in made.of(each)]
    sizes = [of_link.stop - of_link.start for form in chosen for of_link in groups(form.link)]
    rows, answers = (np.concatenate([getattr(form, name) for form in chosen]) for name in ("rows", "answer"))
    return boosting.fit_ranking(rows, answers, sizes, trees=_IDENTITY_TREES)


def _likeness(sets: Sequence[ExampleSets]) -> SavedForest:
    rows, values = [], []
    for number, each in enumerate(sets):
        kept = hard_candidates(each.gone, each.gone.similarity, keep=8, share=0.15, seed=number)
        rows.append(each.gone.rows[kept])
        values.append(each.gone.similarity[kept])
    return boosting.fit_regression(np.concatenate(rows), np.concatenate(values), trees=_LIKENESS_TREES)


def _fit_right(judged: JudgedRankings) -> SavedForest:
    """Whether the first is the lost page: where it is saved, and in few cases where it is gone."""
    used = judged.subset(judged.kind != "unrelated")
    weights = _even_weights(used.site) * np.where(used.kind == "gone", _GONE_PER_FOUND, 1.0)
    return boosting.fit_odds(
        used.signals, used.right, weights, rising=RISING, trees=_SURENESS_TREES, leaves=6
    )


def _fit_repairable(judged: JudgedRankings) -> SavedForest:
    """Whether there is something to offer: the lost page or one alike, or no page of its subject."""
    is_alike = (judged.kind == "gone") & (judged.alike >= _ALIKE)
    used = judged.subset(judged.held | is_alike | (judged.kind == "unrelated"))
    weights = _even_weights(np.char.add(used.site, used.kind))
    weights *= np.where(used.kind == "gone", _ALIKE_WEIGHT, 1.0)
    return boosting.fit_odds(
        used.signals, used.kind != "unrelated", weights, rising=RISING, trees=_OFFER_TREES, leaves=12
    )


def _even_weights(kinds: Names) -> Matrix:
    """Weights under which every kind weighs the same; their mean is 1."""
    _, places, counts = np.unique(kinds, return_inverse=True, return_counts=True)
    weights: Matrix = len(kinds) / len(counts) / counts[places]
    return weights


def _choose_threshold(judged: JudgedRankings) -> float:
    """The probability to offer at that costs least on sites left out, all sites counting the same."""
    full = judged.subset(judged.is_full)
    costs = []
    for site in np.unique(full.site):
        there = full.site == site
        known = _load_forest(_fit_repairable(judged.subset(judged.site != site)), len(SIGNALS))
        likely = 1 / (1 + np.exp(-known.scores(full.signals[there])))
        right, false = full.right[there], full.kind[there] == "unrelated"
        costs.append(
            [
                (right & (likely < at)).sum() / max(1, right.sum())
                + FALSE_OFFER_COST * (false & (likely >= at)).sum() / max(1, false.sum())
                for at in _THRESHOLDS
            ]
        )
    return float(_THRESHOLDS[np.mean(costs, axis=0).argmin()])


def _recalls(judged: JudgedRankings) -> dict[str, float]:
    """R@1 by name of the examples, over the links that have candidates."""
    asked = judged.subset(judged.is_full & (judged.kind == "found"))
    found = {str(name): float(asked.right[asked.name == name].mean()) for name in np.unique(asked.name)}
    return {name: round(share, 4) for name, share in found.items() if share}


def _load_forest(saved: SavedForest, width: int = len(FEATURES)) -> Forest:
    return forest(saved.trees, saved.base, width)


def _answered(examples: Examples, scores: Matrix) -> Iterator[tuple[Matrix, Flags]]:
    """The scores of each link whose answer is a candidate, and which of them it is."""
    for of_link in groups(examples.link):
        if examples.answer[of_link].any():
            yield scores[of_link], examples.answer[of_link]


def _temperature(answered: Sequence[tuple[Matrix, Flags]]) -> float:
    """The temperature under which the answers are likeliest: how far differences of scores can be trusted."""
    surprise = {
        t: -sum(math.log(max(1e-9, float(shares(scores, t)[answer][0]))) for scores, answer in answered)
        for t in TEMPERATURES
    }
    return min(surprise, key=lambda t: surprise[t])
