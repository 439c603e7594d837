"""Gradient boosting by scikit-learn, out as plain trees."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from repair.features import Matrix
from repair.rankmodel import SavedForest


def classified(rows: Matrix, answers: Any, weights: Matrix, **given: Any) -> SavedForest:
    """Trees whose sum is the log-odds of being the answer."""
    model = HistGradientBoostingClassifier(**_settings(given))
    model.fit(rows, answers, sample_weight=weights)
    return _saved(model)


def regressed(rows: Matrix, values: Matrix, **given: Any) -> SavedForest:
    """Trees whose sum is the value expected."""
    model = HistGradientBoostingRegressor(**_settings(given))
    model.fit(rows, values)
    return _saved(model)


def _settings(given: Mapping[str, Any]) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "max_iter": 150,
        "learning_rate": 0.1,
        "max_leaf_nodes": 15,
        "min_samples_leaf": 30,
        "l2_regularization": 1.0,
        "early_stopping": False,
        "random_state": 0,
    }
    return settings | dict(given)


def _saved(model: Any) -> SavedForest:
    trees = [_tree(predictors[0].nodes) for predictors in model._predictors]
    return SavedForest(base=float(np.ravel(model._baseline_prediction)[0]), trees=trees)


def _tree(nodes: Any) -> dict[str, list[float]]:
    """A tree as `repair.trees` reads it: a leaf leads to itself."""
    leaf = nodes["is_leaf"].astype(bool)
    own = np.arange(len(nodes))
    return {
        "feature": np.where(leaf, 0, nodes["feature_idx"]).tolist(),
        "threshold": [float(f"{value:.8g}") for value in np.where(leaf, 0.0, nodes["num_threshold"])],
        "left": np.where(leaf, own, nodes["left"]).tolist(),
        "right": np.where(leaf, own, nodes["right"]).tolist(),
        "value": [float(f"{value:.6g}") for value in np.where(leaf, nodes["value"], 0.0)],
    }
