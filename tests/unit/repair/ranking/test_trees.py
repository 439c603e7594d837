import numpy as np
import pytest

from repair.errors import ModelMismatch
from repair.ranking.trees import forest

STUMP = {
    "feature": [1, 0, 0],
    "threshold": [0.5, 0, 0],
    "left": [1, 1, 2],
    "right": [2, 1, 2],
    "value": [0, -1, 1],
}
LEAF = {"feature": [0], "threshold": [0], "left": [0], "right": [0], "value": [0.25]}


def test_trees_add_up():
    found = forest([STUMP, STUMP, LEAF], 0.5, 2).scores(np.array([[9.0, 0.5], [9.0, 0.6]]))
    assert found.tolist() == [-1.25, 2.75]


def test_trees_read_the_columns_that_wider_rows_have_their_features_in():
    wider = forest([STUMP], 0.0, 2).of_columns(np.array([2, 0]))
    assert wider.scores(np.array([[0.5, 9.0, 9.0], [0.6, 9.0, 9.0]])).tolist() == [-1.0, 1.0]


def test_an_empty_forest_returns_the_base():
    assert forest([], 0.5, 2).scores(np.zeros((3, 2))).tolist() == [0.5, 0.5, 0.5]


@pytest.mark.parametrize(
    "wrong",
    [
        {"feature": [7, 0, 0]},
        {"left": [5, 1, 2]},
        {"left": [-1, 1, 2]},
        {"value": [0]},
        {"value": ["x", 0, 0]},
        {"left": [1, 0, 2]},
    ],
)
def test_invalid_trees_are_refused(wrong):
    with pytest.raises(ModelMismatch):
        forest([STUMP | wrong], 0, 2)
