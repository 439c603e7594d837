"""repair.soft404.model: the weights as a file."""

import msgspec
import pytest

from repair.errors import ModelMismatch
from repair.soft404.model import FORMAT, VERSION, load, read_weights, shipped_weights
from repair.soft404.signals import FEATURES


def a_file(**changes):
    return msgspec.json.encode(
        {
            "format": FORMAT,
            "version": VERSION,
            "features": list(FEATURES),
            "weights": [0.5] * len(FEATURES),
            "constant": -1.0,
            "threshold": 0.6,
            "unsure_from": 0.1,
            "about": {},
            **changes,
        }
    )


def test_the_model_is_logistic():
    weights = read_weights(a_file(), "model.json")
    assert weights.probability([0.0] * len(FEATURES), shift=1.0) == 0.5
    assert weights.probability([1e9] * len(FEATURES)) == pytest.approx(1.0)


def test_the_shipped_weights_fit_our_features():
    assert 0.5 <= shipped_weights().threshold < 1.0
    assert shipped_weights().unsure_from < shipped_weights().threshold


@pytest.mark.parametrize(
    "changes",
    [
        {"version": VERSION + 1},
        {"features": ["other"]},
        {"format": "linkmend-ranking"},
        {"weights": [1.0]},
        {"new": 1},
    ],
    ids=["version", "features", "format", "length", "unknown"],
)
def test_models_of_another_version_are_refused(changes):
    with pytest.raises(ModelMismatch, match=r"model\.json"):
        read_weights(a_file(**changes), "model.json")


def test_invalid_and_missing_files_are_refused(tmp_path):
    with pytest.raises(ModelMismatch, match="not a soft-404 model"):
        read_weights(b"{", "model.json")
    with pytest.raises(ModelMismatch, match="cannot read the file"):
        load(tmp_path / "none.json")
