"""The trained weights: JSON with feature names and a version, read without scikit-learn."""

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
class Soft404Weights:
    """A logistic model. From `threshold` on a page counts as missing, from `unsure_from` on it is in doubt."""

    weights: tuple[float, ...]
    constant: float
    threshold: float
    unsure_from: float

    def probability(self, vector: Sequence[float], shift: float = 0.0) -> float:
        """The probability that a page with these signals is missing; `shift` is further evidence, in logits."""
        logit = self.constant + shift + sum(w * x for w, x in zip(self.weights, vector, strict=True))
        return 1.0 / (1.0 + math.exp(-max(-60.0, min(60.0, logit))))


def read_weights(text: bytes, place: str) -> Soft404Weights:
    """Read weights from a file's content. Raises ModelMismatch when they do not fit this version."""
    try:
        saved = msgspec.json.decode(text, type=SavedWeights)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ModelMismatch(f"{place}: not a soft-404 model: {error}") from error
    if (saved.format, saved.version) != (FORMAT, VERSION):
        found = f"{saved.format} {saved.version}"
        raise ModelMismatch(f"{place}: expected {FORMAT} {VERSION}, found {found}")
    if tuple(saved.features) != FEATURES or len(saved.weights) != len(FEATURES):
        odd = sorted(set(saved.features) ^ set(FEATURES)) or ["another order"]
        raise ModelMismatch(f"{place}: unknown features: {', '.join(odd[:5])}")
    return Soft404Weights(
        weights=tuple(saved.weights),
        constant=saved.constant,
        threshold=saved.threshold,
        unsure_from=saved.unsure_from,
    )


def load(path: Path) -> Soft404Weights:
    """Read weights from another file. Raises ModelMismatch."""
    try:
        return read_weights(path.read_bytes(), path.name)
    except OSError as error:
        raise ModelMismatch(f"{path.name}: cannot read the file: {error.strerror or error}") from error


@lru_cache(maxsize=1)
def shipped_weights() -> Soft404Weights:
    """The model that comes with linkmend."""
    return read_weights(
        resources.files("repair.soft404").joinpath("weights.json").read_bytes(), "weights.json"
    )
