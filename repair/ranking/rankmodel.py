"""The learned ranking as a file: plain JSON with a version and the names of its features, read without scikit-learn.

Two forests use the same features. `identity` ranks candidates for being the lost page itself; `likeness` predicts
how similar a candidate's content is. A logistic formula, `held`, estimates from the ranking how likely the lost
page is saved at all: while it may be, the first orders the candidates, else the second. Another, `repairable`,
estimates whether any candidate is worth offering.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from repair.errors import ModelMismatch
from repair.ranking.features import FEATURES
from repair.ranking.trees import Forest, forest

FORMAT = "linkmend-ranking"
VERSION = 2
LEAN = 2.5
"""Bias, in log-odds, towards a saved lost page when candidates are ordered.

A user who gets a similar page although the lost one is there loses more than one who gets a less similar page where
it is not.
"""
FLATTER = 2.0
"""How far the shares of candidates are evened out for the order: behind the first, likeness counts more."""
PLAIN = [
    FEATURES.index(name)
    for name in (
        *("anchor.title", "slug.title", "inlinks.title", "anchor.anchors", "slug.url", "address.tail"),
        *("address.slug", "anchor.body", "slug.body", "inlinks.body", "around.body", "move.confidence"),
        *("anchor.called", "slug.called", "tail=title", "anchor=title", "copy.title", "copy.body"),
        *("company.best", "company.backlinks"),
    )
]
"""Features whose sum separates hopeless candidates from the others."""
_MAX_EVALUATED = 100
_LONE_MARGIN = 2.0  # the margin of a candidate without rivals
_NAMED = (
    *("anchor=title", "slug=title", "tail=title", "names=title", "copy=title"),
    *("anchor~title", "slug~title", "tail~title", "names~title", "anchor.title_dice"),
)
_SIGNS = (
    *_NAMED,
    *("slug.title_dice", "inlinks.title_dice", "anchor.title_all", "slug.title_all", "inlinks.title_all"),
    *("anchor.called", "slug.called", "tail.called", "address.same_slug", "address.slug", "address.path"),
    *("address.same_directory", "move.confidence", "anchor.body_all", "slug.body_all", "inlinks.body_all"),
    *("copy.body_all", "company.best", "company.backlinks", "found.ways", "known.inlinks"),
    *("known.anchor_terms", "known.slug_terms", "known.copy_terms"),
)
_SIGNS_AT = [FEATURES.index(name) for name in _SIGNS]
_NAMED_AT = [FEATURES.index(name) for name in _NAMED]
_MAX_BYTES = 64 * 1024**2

Matrix = npt.NDArray[np.floating[Any]]


class SavedForest(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Trees as `repair.ranking.trees` reads them."""

    base: float
    trees: list[dict[str, list[float]]]


class SavedModel(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The file. Formulas are coefficients by name, with `constant`; `about` is for people."""

    format: str
    version: int
    features: list[str]
    identity: SavedForest
    likeness: SavedForest
    temperature: float
    held: dict[str, float]
    repairable: dict[str, float]
    about: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class RankJudgement:
    """The model's output: sort values, the probability that each candidate is the page, expected similarities.

    Similarities are 0 to 1; `repairable` is the probability that any candidate is worth offering.
    """

    values: Matrix
    confidences: Matrix
    likeness: Matrix
    repairable: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RankModel:
    """A model ready for use."""

    identity: Forest
    likeness: Forest
    temperature: float
    held: dict[str, float]
    repairable: dict[str, float]
    about: dict[str, Any]

    def judge(self, rows: Matrix) -> RankJudgement:
        """Judge the candidates of one broken link, a row of FEATURES each."""
        values, confidences, likeness = (np.zeros(len(rows)) for _ in range(3))
        if not len(rows):
            return RankJudgement(values=values, confidences=confidences, likeness=likeness, repairable=0.0)
        positions = most_promising(rows)
        evaluated = rows[positions]
        scores, alike = self.identity.scores(evaluated), self.likeness.scores(evaluated)
        signals = ranking_signals(evaluated, scores, alike)
        held = logit(self.held, signals)
        values[positions] = sort_values(scores, alike, held)
        confidences[positions] = probability(held) * shares(scores, self.temperature)
        likeness[positions] = alike
        return RankJudgement(
            values=values,
            confidences=confidences,
            likeness=likeness,
            repairable=probability(logit(self.repairable, signals | {"held": held})),
        )


def most_promising(rows: Matrix) -> npt.NDArray[np.int64]:
    """The rows worth evaluating: those with the most evidence of the plainest kind, all when there are few."""
    if len(rows) <= _MAX_EVALUATED:
        return np.arange(len(rows))
    return np.argpartition(-rows[:, PLAIN].sum(axis=1), _MAX_EVALUATED)[:_MAX_EVALUATED]


def sort_values(scores: Matrix, alike: Matrix, held: float) -> Matrix:
    """Values to sort candidates by: identity, as far as the page may be saved (log-odds), else similarity."""
    lean = probability(held + LEAN)
    even = shares(scores, FLATTER)
    values: Matrix = lean * even / even.max() + (1 - lean) * alike
    return values


def shares(scores: Matrix, temperature: float) -> Matrix:
    """The probability of each candidate, given that one of them is the lost page."""
    raised = np.exp((scores - scores.max()) / temperature)
    found: Matrix = raised / raised.sum()
    return found


def ranking_signals(rows: Matrix, scores: Matrix, alike: Matrix) -> dict[str, float]:
    """Features of a ranking that show whether the lost page is saved: how sure the first is, and its evidence."""
    first = int(scores.argmax())
    others = np.delete(scores, first)
    signals = {
        "score": scores[first],
        "margin": scores[first] - others.max() if len(others) else _LONE_MARGIN,
        "share": shares(scores, 1.0)[first],
        "likeness": alike[first],
        "best_likeness": alike.max(),
        "mean_likeness": np.sort(alike)[-10:].mean(),
    }
    signals |= zip((f"first.{name}" for name in _SIGNS), rows[first, _SIGNS_AT], strict=True)
    signals |= zip((f"any.{name}" for name in _NAMED), rows[:, _NAMED_AT].max(axis=0), strict=True)
    return {name: float(value) for name, value in signals.items()}


def logit(formula: Mapping[str, float], signals: Mapping[str, float]) -> float:
    """Log-odds by a linear formula of named values."""
    return formula.get("constant", 0.0) + sum(
        formula.get(name, 0.0) * value for name, value in signals.items()
    )


def probability(log_odds: float) -> float:
    """The same as a probability."""
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, log_odds))))


def loads(data: bytes, where: str) -> RankModel:
    """Parse a model file's bytes; raises ModelMismatch when it is not one for our features."""
    if len(data) > _MAX_BYTES:
        raise ModelMismatch(f"{where}: {len(data)} bytes, not a linkmend model")
    try:
        saved = msgspec.json.decode(data, type=SavedModel)
    except msgspec.DecodeError as error:
        raise ModelMismatch(f"{where}: not a ranking model: {error}") from error
    if (saved.format, saved.version) != (FORMAT, VERSION):
        raise ModelMismatch(f"{where}: expected {FORMAT} {VERSION}, found {saved.format} {saved.version}")
    if tuple(saved.features) != FEATURES:
        unknown = sorted(set(saved.features) ^ set(FEATURES))[:3]
        raise ModelMismatch(
            f"{where}: trained with other features: {', '.join(unknown) or 'in another order'}"
        )
    if not (math.isfinite(saved.temperature) and saved.temperature > 0):
        raise ModelMismatch(f"{where}: temperature: {saved.temperature}")
    return RankModel(
        identity=forest(saved.identity.trees, saved.identity.base, len(FEATURES)),
        likeness=forest(saved.likeness.trees, saved.likeness.base, len(FEATURES)),
        temperature=saved.temperature,
        held=saved.held,
        repairable=saved.repairable,
        about=saved.about,
    )


def load(path: Path) -> RankModel:
    """Load a model from a file; raises ModelMismatch."""
    try:
        return loads(path.read_bytes(), str(path))
    except OSError as error:
        raise ModelMismatch(f"{path}: {error.strerror}") from error


@lru_cache(maxsize=1)
def default() -> RankModel:
    """The default model, trained on the development collections."""
    found = resources.files("repair.ranking") / "models" / "default.json"
    try:
        return loads(found.read_bytes(), "the default model")
    except OSError as error:
        raise ModelMismatch(f"the default model: {error.strerror}") from error
