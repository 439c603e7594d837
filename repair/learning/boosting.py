"""Gradient boosting with LightGBM; the result is saved as plain trees.

LightGBM takes a tenth of scikit-learn's time on the same rows, and has ranking objectives. On sites that the model
had not seen, a ranking objective ranked one or two answers in a hundred more first than log-odds for each candidate
alone (docs/evaluation.md).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import lightgbm
import numpy as np

from repair.ranking.features import Matrix
from repair.ranking.rankmodel import SavedForest

_SETTINGS: Mapping[str, Any] = {
    "learning_rate": 0.08,
    "num_leaves": 6,
    "min_data_in_leaf": 30,
    "lambda_l2": 1.0,
    "max_bin": 63,
    # Few features at a time: no tree may depend on the one that happens to be strongest on the training sites.
    "feature_fraction": 0.2,
    "bagging_fraction": 0.8,
    "bagging_freq": 1,
    "verbose": -1,
    "num_threads": 1,
    "deterministic": True,
    "force_col_wise": True,  # with few features a tree a third faster than by rows, and the same trees
    "seed": 0,
}


def fit_ranking(
    rows: Matrix, answers: Any, sizes: Sequence[int], *, trees: int, start: Matrix | None = None
) -> SavedForest:
    """Fit trees whose sum ranks the answer first among the candidates of its link; `sizes` counts those per link.

    `start` are scores that are there already, to which those of the trees are added.
    """
    data = lightgbm.Dataset(rows, answers.astype(np.int32), group=list(sizes), init_score=start)
    wanted = {"objective": "lambdarank", "lambdarank_truncation_level": 10, "num_leaves": 16, "max_depth": 6}
    return _saved_forest(lightgbm.train({**_SETTINGS, **wanted}, data, trees))


def fit_odds(
    rows: Matrix, answers: Any, weights: Matrix, *, rising: Sequence[bool], trees: int, leaves: int
) -> SavedForest:
    """Fit trees whose sum is the log-odds of an answer; no more of a `rising` value ever lowers it."""
    data = lightgbm.Dataset(rows, answers.astype(np.int32), weight=weights)
    wanted = {
        "objective": "binary",
        "num_leaves": leaves,
        "min_data_in_leaf": 60,
        "lambda_l2": 5.0,
        "monotone_constraints": [int(each) for each in rising],
    }
    return _saved_forest(lightgbm.train({**_SETTINGS, **wanted}, data, trees))


def fit_regression(rows: Matrix, values: Matrix, *, trees: int) -> SavedForest:
    """Fit trees whose sum predicts the value."""
    data = lightgbm.Dataset(rows, values)
    return _saved_forest(lightgbm.train({**_SETTINGS, "objective": "l2", "num_leaves": 10}, data, trees))


def _saved_forest(booster: lightgbm.Booster) -> SavedForest:
    grown = booster.dump_model()["tree_info"]
    return SavedForest(base=0.0, trees=[_tree(each["tree_structure"]) for each in grown])


def _tree(root: Mapping[str, Any]) -> dict[str, list[float]]:
    """A tree as `repair.ranking.trees` reads it: parents come before their children, and a leaf points to itself."""
    nodes: list[list[float]] = []

    def put(node: Mapping[str, Any]) -> int:
        at = len(nodes)
        nodes.append([0, 0.0, at, at, 0.0])
        if "split_feature" in node:
            nodes[at][:2] = node["split_feature"], float(f"{node['threshold']:.9g}")
            nodes[at][2] = put(node["left_child"])
            nodes[at][3] = put(node["right_child"])
        else:
            nodes[at][4] = float(f"{node['leaf_value']:.6g}")
        return at

    put(root)
    names = ("feature", "threshold", "left", "right", "value")
    return {name: [node[at] for node in nodes] for at, name in enumerate(names)}
