"""The learned weights: plain JSON with the names of its features and a version, read without scikit-learn."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec

from repair.errors import ModelMismatch
from repair.soft404.signals import FEATURES

FORMAT = "linkmend-soft404"
VERSION = 1


class SavedWeights(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The file; `weights` are in the order of `features`, `about` is for people."""

    format: str
    version: int
    features: list[str]
    weights: list[float]
    constant: float
    threshold: float
    unsure_from: float
    about: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """A logistic formula. From `threshold` on a page is taken for missing, from `unsure_from` on it is in doubt."""

    weights: tuple[float, ...]
    constant: float
    threshold: float
    unsure_from: float

    def probability(self, vector: Sequence[float], shift: float = 0.0) -> float:
        """How likely a page with these signals says that it is missing; `shift` is further evidence, in logits."""
        logit = self.constant + shift + sum(w * x for w, x in zip(self.weights, vector, strict=True))
        return 1.0 / (1.0 + math.exp(-max(-60.0, min(60.0, logit))))


def read(text: bytes, place: str) -> Weights:
    """Weights out of a file's content. Raises ModelMismatch when they are not ours."""
    try:
        saved = msgspec.json.decode(text, type=SavedWeights)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ModelMismatch(f"{place}: not a soft-404 model: {error}") from error
    if (saved.format, saved.version) != (FORMAT, VERSION):
        found = f"{saved.format} {saved.version}"
        raise ModelMismatch(f"{place}: expected {FORMAT} {VERSION}, found {found}")
    if tuple(saved.features) != FEATURES or len(saved.weights) != len(FEATURES):
        odd = sorted(set(saved.features) ^ set(FEATURES)) or ["another order"]
        raise ModelMismatch(f"{place}: other features than ours: {', '.join(odd[:5])}")
    return Weights(
        weights=tuple(saved.weights),
        constant=saved.constant,
        threshold=saved.threshold,
        unsure_from=saved.unsure_from,
    )


def load(path: Path) -> Weights:
    """A model of one's own. Raises ModelMismatch."""
    try:
        return read(path.read_bytes(), path.name)
    except OSError as error:
        raise ModelMismatch(f"{path.name}: cannot be read: {error.strerror or error}") from error


@lru_cache(maxsize=1)
def shipped() -> Weights:
    """The model that comes with linkmend."""
    return read(resources.files("repair.soft404").joinpath("weights.json").read_bytes(), "weights.json")
