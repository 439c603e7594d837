"""Which terms of the source page to query for: a logistic model over their proximity to anchor and URL terms.

Bashir (2018, section 6) trains on which terms improve a seed query, that of the URL, when added to it. `fit` needs
scikit-learn; the trained model is a few numbers, saved as JSON and used without it. His support vector machine
classified 83 % of the terms correctly; nothing near that was reached on our collections (docs/evaluation.md).
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib import resources

import numpy as np

from repair.errors import ModelMismatch
from repair.evaluation.papers.proximity import NAMES, Rows, proximity

VERSION = 1
FEATURES = (*(f"anchor_{name}" for name in NAMES), *(f"url_{name}" for name in NAMES))
"""The features in their order: f1 to f6 to the terms of the anchor, then to those of the URL."""
_TERMS = 15
_SHIPPED = "terms.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class TermModel:
    """A logistic model over standardised features: (feature - mean) / scale * weight, summed, plus the bias."""

    means: tuple[float, ...]
    scales: tuple[float, ...]
    weights: tuple[float, ...]
    bias: float

    def probabilities(self, rows: Rows) -> Rows:
        """For each row of features, the probability that the term is good."""
        scaled = (rows - np.array(self.means)) / np.array(self.scales)
        logits = np.clip(scaled @ np.array(self.weights) + self.bias, -50.0, 50.0)
        return np.asarray(1.0 / (1.0 + np.exp(-logits)))


def features(page: Sequence[str], anchor: Sequence[str], url: Sequence[str]) -> tuple[tuple[str, ...], Rows]:
    """The terms of a page that are in neither the anchor nor the URL, and a row of `FEATURES` for each."""
    by_anchor, by_url = proximity(page, anchor), proximity(page, url)
    rows = [dict(zip(terms, values, strict=True)) for terms, values in (by_anchor, by_url)]
    kept = tuple(term for term in by_anchor[0] if term in rows[1])
    if not kept:
        return (), np.zeros((0, len(FEATURES)))
    return kept, np.array([np.concatenate((rows[0][term], rows[1][term])) for term in kept])


def good_terms(
    model: TermModel, page: Sequence[str], anchor: Sequence[str], url: Sequence[str], *, limit: int = _TERMS
) -> tuple[tuple[str, float], ...]:
    """The terms of the source page most likely to help, with their probabilities, best first."""
    terms, rows = features(page, anchor, url)
    chances = model.probabilities(rows)
    order = sorted(zip(terms, map(float, chances), strict=True), key=lambda pair: (-pair[1], pair[0]))
    return tuple(order[:limit])


def examples(
    page: Sequence[str], anchor: Sequence[str], url: Sequence[str], rank: Callable[[Sequence[str]], float]
) -> tuple[Rows, list[bool]]:
    """The examples of one link: rows of terms that move its target up (good) or down when added to the URL terms.

    `rank` gives the target's rank for a query, from 1; infinite when it is not found. Terms that do not change the
    rank are left out.
    """
    terms, rows = features(page, anchor, url)
    seed = rank(url)
    ranks = [rank((*url, term)) for term in terms]
    moved = [at for at, found in enumerate(ranks) if found != seed]
    return rows[moved], [ranks[at] < seed for at in moved]


def fit(rows: Rows, good: Sequence[bool] | Rows, *, strength: float = 1.0) -> TermModel:
    """Train on rows of `FEATURES` and whether each term improved its seed query; classes have equal weight.

    ValueError when all terms are of one class.
    """
    from sklearn.linear_model import LogisticRegression  # seconds to import, and only training needs it

    values = np.asarray(rows, dtype=np.float64)
    means, scales = values.mean(axis=0), values.std(axis=0)
    scales[scales < 1e-9] = 1.0
    learner = LogisticRegression(C=strength, class_weight="balanced", max_iter=1_000)
    learner.fit((values - means) / scales, np.asarray(good, dtype=bool))
    return TermModel(
        means=tuple(map(float, means)),
        scales=tuple(map(float, scales)),
        weights=tuple(map(float, learner.coef_[0])),
        bias=float(learner.intercept_[0]),
    )


def dumps(model: TermModel) -> str:
    """The model as JSON, with its feature names."""
    return json.dumps({"version": VERSION, "features": FEATURES, **asdict(model)})


def shipped_model() -> TermModel:
    """The model from this folder."""
    return loads((resources.files("repair.evaluation.papers") / _SHIPPED).read_text(encoding="utf-8"))


def loads(text: str) -> TermModel:
    """Read a model from JSON; ModelMismatch when it does not fit this version."""
    try:
        saved = json.loads(text)
        found = (saved["version"], tuple(saved["features"]))
        model = TermModel(
            means=tuple(map(float, saved["means"])),
            scales=tuple(map(float, saved["scales"])),
            weights=tuple(map(float, saved["weights"])),
            bias=float(saved["bias"]),
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ModelMismatch(
            f"term model: expected JSON of version {VERSION}, got {type(error).__name__}"
        ) from error
    if found != (VERSION, FEATURES):
        raise ModelMismatch(f"term model: expected version {VERSION}, got {str(found)[:100]}")
    numbers = (*model.means, *model.scales, *model.weights, model.bias)
    lengths = {len(model.means), len(model.scales), len(model.weights)}
    if lengths != {len(FEATURES)} or not np.isfinite(numbers).all() or 0.0 in model.scales:
        raise ModelMismatch("term model: expected one finite mean, scale and weight for each feature")
    return model
