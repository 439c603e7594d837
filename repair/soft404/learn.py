"""Trains the weights on labelled pages: `python -m repair.soft404.learn FOLDER --out FILE`.

Only the `train` split is used. Cross-validation chooses the regularisation and the threshold; all pages of an owner
are in the same fold, since they look alike. Owners with many pages (one error page in ten languages) count less per
page. Nothing else in this package needs scikit-learn.
"""

import argparse
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from repair.errors import EvaluationFailed, RepairError
from repair.soft404.labelled import LabelledPage, labelled_pages
from repair.soft404.model import FORMAT, VERSION, SavedWeights
from repair.soft404.pageparts import parts_of
from repair.soft404.signals import FEATURES, PageSignals, signals

FOLDS = 10
STRENGTHS = (0.03, 0.1, 0.3, 1.0)
"""Inverse strengths of regularisation to try."""
UNSURE_FROM = 0.1
_LEAST_PRECISION = 0.99
_MARGIN = 0.05

Matrix = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


def learn(pages: list[LabelledPage]) -> SavedWeights:
    """Train weights on error and normal pages; other labels are left out."""
    judgeable = [page for page in pages if page.label in ("error", "normal")]
    measured = [_signals(page) for page in judgeable]
    rows = np.array([found.vector for found in measured])
    truth: Flags = np.array([page.label == "error" for page in judgeable])
    owners = [page.owner for page in judgeable]
    if truth.all() or not truth.any():
        raise EvaluationFailed("learning needs error pages and normal pages")
    counts = Counter(owners)
    weight: Matrix = np.array([counts[owner] ** -0.5 for owner in owners])
    # A rule decides these pages; they train the model, but do not influence what is chosen.
    ruled: Flags = np.array([found.discusses for found in measured])
    folds = _folds(owners)
    trials = {
        strength: np.where(ruled, 0.0, _held_out(rows, truth, weight, folds, strength))
        for strength in STRENGTHS
    }
    best = min(trials, key=lambda strength: _loss(trials[strength], truth, weight))
    threshold = _threshold(trials[best], truth)
    coefficients, constant = _fit(rows, truth, weight, best)
    return SavedWeights(
        format=FORMAT,
        version=VERSION,
        features=list(FEATURES),
        weights=[round(float(value), 5) for value in coefficients],
        constant=round(constant, 5),
        threshold=threshold,
        unsure_from=UNSURE_FROM,
        about=_about(trials[best], truth, threshold, best, len(counts)),
    )


def _signals(page: LabelledPage) -> PageSignals:
    parts = parts_of(page.page)
    if parts is None:
        raise EvaluationFailed(f"{page.file}: not a readable page")
    return signals(parts)


def _folds(owners: list[str]) -> npt.NDArray[np.int_]:
    names = np.array(sorted(set(owners)))
    np.random.default_rng(0).shuffle(names)
    fold = {str(name): number % FOLDS for number, name in enumerate(names)}
    return np.array([fold[owner] for owner in owners])


def _fit(rows: Matrix, truth: Flags, weight: Matrix, strength: float) -> tuple[Matrix, float]:
    """Coefficients for unscaled signals: the scaling used in training is folded into them."""
    from sklearn.linear_model import LogisticRegression  # seconds to import, and only training needs it

    mean, scale = rows.mean(axis=0), rows.std(axis=0)
    scale[scale == 0] = 1.0
    model = LogisticRegression(C=strength, max_iter=5000)
    model.fit((rows - mean) / scale, truth, sample_weight=weight)
    coefficients: Matrix = model.coef_[0] / scale
    return coefficients, float(model.intercept_[0] - (coefficients * mean).sum())


def _held_out(
    rows: Matrix, truth: Flags, weight: Matrix, folds: npt.NDArray[np.int_], strength: float
) -> Matrix:
    """The probability of each page by weights trained without its owner."""
    found: Matrix = np.zeros(len(truth))
    for fold in range(FOLDS):
        kept = folds != fold
        if truth[kept].all() or not truth[kept].any():
            continue
        coefficients, constant = _fit(rows[kept], truth[kept], weight[kept], strength)
        found[~kept] = 1 / (1 + np.exp(-(rows[~kept] @ coefficients + constant)))
    return found


def _loss(found: Matrix, truth: Flags, weight: Matrix) -> float:
    sure = np.clip(np.where(truth, found, 1 - found), 1e-6, 1.0)
    return float(-(weight * np.log(sure)).sum() / weight.sum())


def _threshold(found: Matrix, truth: Flags) -> float:
    """The lowest threshold with enough precision, plus a margin: it finds as many error pages as possible."""
    for at in np.linspace(0.5, 0.9, 41):
        if _quality(found, truth, float(at))[0] >= _LEAST_PRECISION:
            return round(float(at) + _MARGIN, 2)
    return 0.95


def _quality(found: Matrix, truth: Flags, threshold: float) -> tuple[float, float]:
    flagged = found >= threshold
    right = int((flagged & truth).sum())
    return right / max(1, int(flagged.sum())), right / max(1, int(truth.sum()))


def _about(found: Matrix, truth: Flags, threshold: float, strength: float, owners: int) -> dict[str, Any]:
    precision, recall = _quality(found, truth, threshold)
    return {
        "pages": len(truth),
        "owners": owners,
        "strength": strength,
        "cross_validated": {"precision": round(precision, 4), "recall": round(recall, 4)},
    }


def main(arguments: list[str]) -> int:
    """The command; returns 0 when done, 1 after an error, with a line on stderr."""
    parser = argparse.ArgumentParser(prog="python -m repair.soft404.learn", description=__doc__)
    parser.add_argument("folder", type=Path, help="a folder with labels.jsonl")
    parser.add_argument("--out", type=Path, required=True, help="where the weights go")
    options = parser.parse_args(arguments)
    try:
        saved = learn(list(labelled_pages(options.folder, "train")))
    except RepairError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    options.out.write_bytes(msgspec.json.format(msgspec.json.encode(saved), indent=1) + b"\n")
    sys.stdout.write(f"threshold {saved.threshold}, {saved.about}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
