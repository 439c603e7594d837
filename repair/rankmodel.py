"""The learned ranking as a file: plain JSON with a version and the names of its features, read without scikit-learn.

Two forests look at the same features. `identity` ranks candidates for being the lost page itself, `likeness` says how
much a candidate would say of the same. A logistic formula makes a probability of what the first says: it decides
while it is sure, the second where the page itself is not held. Another tells whether any is worth offering.
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
from repair.features import FEATURES
from repair.trees import Forest, forest

FORMAT = "linkmend-ranking"
VERSION = 2
PLAIN = [
    FEATURES.index(name)
    for name in (
        *("anchor.title", "slug.title", "inlinks.title", "anchor.anchors", "slug.url", "address.tail"),
        *("address.slug", "anchor.body", "slug.body", "inlinks.body", "around.body", "move.confidence"),
        *("anchor.called", "slug.called", "tail=title", "anchor=title", "copy.title", "copy.body"),
        *("company.best", "company.backlinks"),
    )
]
"""Features whose sum tells the hopeless candidates from the others."""
_LOOKED_AT = 100
_LONE = 2.0  # the margin of a candidate without rivals
_TOLD_AT = [
    FEATURES.index(name)
    for name in (
        *("anchor.body_all", "slug.body_all", "inlinks.body_all", "anchor.title_dice", "slug.title_dice"),
        *("inlinks.title_dice", "anchor.called", "company.backlinks", "found.ways"),
    )
]
_INLINKS_AT = FEATURES.index("known.inlinks")
_MAX_BYTES = 64 * 1024**2

Matrix = npt.NDArray[np.floating[Any]]


class SavedForest(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Trees as `repair.trees` reads them."""

    base: float
    trees: list[dict[str, list[float]]]


class SavedModel(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The file. Formulas are coefficients by name, with `constant`; `about` is for people."""

    format: str
    version: int
    features: list[str]
    identity: SavedForest
    likeness: SavedForest
    blend: float
    confidence: dict[str, float]
    repairable: dict[str, float]
    about: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What the model says of candidates: values to order them by, how likely each is the page, how much each is
    expected to resemble it (0 to 1), and how likely any is worth offering at all."""

    values: Matrix
    confidences: Matrix
    likeness: Matrix
    repairable: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RankModel:
    """A model ready for use."""

    identity: Forest
    likeness: Forest
    blend: float
    confidence: dict[str, float]
    repairable: dict[str, float]
    about: dict[str, Any]

    def judge(self, rows: Matrix) -> Judgement:
        """Judge the candidates of one broken link, a row of FEATURES each."""
        if not len(rows):
            nobody = np.zeros(0)
            return Judgement(values=nobody, confidences=nobody, likeness=nobody, repairable=0.0)
        looked_at = likely(rows)
        confidences, alike = np.zeros(len(rows)), np.zeros(len(rows))
        scores = self.identity.scores(rows[looked_at])
        confidences[looked_at] = confidence(self.confidence, scores)
        alike[looked_at] = self.likeness.scores(rows[looked_at])
        values = confidences + self.blend * alike
        told = telling(rows, confidences, alike, int(values.argmax()))
        return Judgement(
            values=values,
            confidences=confidences,
            likeness=alike,
            repairable=float(logistic(self.repairable, told)),
        )


def likely(rows: Matrix) -> npt.NDArray[np.int64]:
    """The rows worth the trees' time: those with the most evidence of the plainest kind, all when there are few."""
    if len(rows) <= _LOOKED_AT:
        return np.arange(len(rows))
    return np.argpartition(-rows[:, PLAIN].sum(axis=1), _LOOKED_AT)[:_LOOKED_AT]


def confidence(formula: Mapping[str, float], scores: Matrix) -> Matrix:
    """How likely each candidate is the lost page: by its score, and by how far it is above the others."""
    return logistic(formula, {"score": scores, "margin": margins(scores)})


def margins(scores: Matrix) -> Matrix:
    """By how much each score is above the best of the others."""
    if len(scores) < 2:
        return np.full(len(scores), _LONE)
    order = np.argsort(-scores)
    others = np.full(len(scores), scores[order[0]])
    others[order[0]] = scores[order[1]]
    found: Matrix = np.clip(scores - others, -10, 10)
    return found


def telling(rows: Matrix, confidences: Matrix, alike: Matrix, best: int) -> dict[str, Matrix]:
    """What of a whole ranking tells whether its best page is worth offering."""
    told = {f"best.{FEATURES[at]}": rows[best, at] for at in _TOLD_AT}
    found = {
        "confidence": confidences[best],
        "likeness": alike[best],
        "mean_likeness": np.sort(alike)[-10:].mean(),
        "known.inlinks": rows[best, _INLINKS_AT],
    }
    return {name: np.asarray(value, np.float64) for name, value in (told | found).items()}


def logistic(formula: Mapping[str, float], values: Mapping[str, Matrix]) -> Matrix:
    """A probability by a linear formula of named values."""
    total = sum(
        (formula.get(name, 0.0) * found for name, found in values.items()), formula.get("constant", 0.0)
    )
    probability: Matrix = 1 / (1 + np.exp(-np.clip(total, -30, 30)))
    return probability


def loads(data: bytes, where: str) -> RankModel:
    """A model out of its file's bytes; raises ModelMismatch when it is not one for our features."""
    if len(data) > _MAX_BYTES:
        raise ModelMismatch(f"{where}: {len(data)} bytes are no model of ours")
    try:
        saved = msgspec.json.decode(data, type=SavedModel)
    except msgspec.DecodeError as error:
        raise ModelMismatch(f"{where}: not a ranking model: {error}") from error
    if (saved.format, saved.version) != (FORMAT, VERSION):
        raise ModelMismatch(f"{where}: expected {FORMAT} {VERSION}, found {saved.format} {saved.version}")
    if tuple(saved.features) != FEATURES:
        unknown = sorted(set(saved.features) ^ set(FEATURES))[:3]
        raise ModelMismatch(
            f"{where}: learnt with other features: {', '.join(unknown) or 'in another order'}"
        )
    if not math.isfinite(saved.blend):
        raise ModelMismatch(f"{where}: blend: {saved.blend}")
    return RankModel(
        identity=forest(saved.identity.trees, saved.identity.base, len(FEATURES)),
        likeness=forest(saved.likeness.trees, saved.likeness.base, len(FEATURES)),
        blend=saved.blend,
        confidence=saved.confidence,
        repairable=saved.repairable,
        about=saved.about,
    )


def load(path: Path) -> RankModel:
    """A model out of a file; raises ModelMismatch."""
    try:
        return loads(path.read_bytes(), str(path))
    except OSError as error:
        raise ModelMismatch(f"{path}: {error.strerror}") from error


@lru_cache(maxsize=1)
def default() -> RankModel:
    """The model that ships, learnt on the development collections."""
    found = resources.files("repair") / "models" / "default.json"
    try:
        return loads(found.read_bytes(), "the default model")
    except OSError as error:
        raise ModelMismatch(f"the default model: {error.strerror}") from error
