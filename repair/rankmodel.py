"""The learned ranking as a file: plain JSON with a version and the names of its features, read without scikit-learn.

Two forests look at the same features. `identity` says how likely a candidate is the lost page itself, `likeness` how
much it would say of the same; the first decides while it is sure, the second where the page itself is not held. Three
small logistic formulas turn what they say into confidences that mean what they say.
"""

import math
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
VERSION = 1
PLAIN = [
    FEATURES.index(name)
    for name in (
        *("anchor.title", "slug.title", "inlinks.title", "anchor.anchors", "slug.url", "address.tail"),
        *("address.slug", "anchor.body", "slug.body", "inlinks.body", "around.body", "move.confidence"),
        *("anchor.called", "slug.called", "tail=title", "anchor=title"),
    )
]
"""Features whose sum tells the hopeless candidates from the others."""
_LOOKED_AT = 60
_UNLIKELY = -30.0
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
    """What the model says of candidates: values to order them by, how likely each is the page, and whether any
    is worth offering at all, as a probability."""

    values: Matrix
    confidences: Matrix
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
            return Judgement(values=np.zeros(0), confidences=np.zeros(0), repairable=0.0)
        looked_at = likely(rows)
        scores, alike = np.full(len(rows), _UNLIKELY), np.zeros(len(rows))
        scores[looked_at] = self.identity.scores(rows[looked_at])
        alike[looked_at] = self.likeness.scores(rows[looked_at])
        values = blended(scores, alike, self.blend)
        told = telling(scores, alike, values)
        return Judgement(
            values=values,
            confidences=logistic(self.confidence, {"score": scores, "margin": margins(scores)}),
            repairable=float(
                logistic(self.repairable, {key: np.array([value]) for key, value in told.items()})[0]
            ),
        )


def likely(rows: Matrix) -> npt.NDArray[np.int64]:
    """The rows worth the trees' time: those with the most evidence of the plainest kind, all when there are few."""
    if len(rows) <= _LOOKED_AT:
        return np.arange(len(rows))
    return np.argpartition(-rows[:, PLAIN].sum(axis=1), _LOOKED_AT)[:_LOOKED_AT]


def blended(scores: Matrix, alike: Matrix, blend: float) -> Matrix:
    """The value to order by: the probability of being the page, and some of the likeness to it."""
    values: Matrix = 1 / (1 + np.exp(-np.clip(scores, -30, 30))) + blend * alike
    return values


def margins(scores: Matrix) -> Matrix:
    """By how much each score is above the best of the others."""
    if len(scores) < 2:
        return np.full(len(scores), 5.0)
    order = np.argsort(-scores)
    others = np.full(len(scores), scores[order[0]])
    others[order[0]] = scores[order[1]]
    found: Matrix = np.clip(scores - others, -10, 10)
    return found


def telling(scores: Matrix, alike: Matrix, values: Matrix) -> dict[str, float]:
    """What of a whole ranking tells whether its best page is worth offering."""
    best = int(values.argmax())
    return {
        "score": float(scores[best]),
        "margin": float(margins(scores)[best]),
        "likeness": float(alike[best]),
        "mean_likeness": float(np.sort(alike)[-10:].mean()),
    }


def logistic(formula: dict[str, float], values: dict[str, Matrix]) -> Matrix:
    """A probability by a linear formula of named values."""
    total: Matrix = np.full(len(next(iter(values.values()))), formula.get("constant", 0.0))
    for name, found in values.items():
        total = total + formula.get(name, 0.0) * found
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
