"""Choosing terms of the source page by a trained model."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from repair.errors import ModelMismatch
from repair.evaluation.papers.termclassifier import (
    FEATURES,
    TermModel,
    dumps,
    examples,
    features,
    fit,
    good_terms,
    loads,
)

NEARER_IS_BETTER = TermModel(
    means=(0.0,) * 12, scales=(1.0,) * 12, weights=(-1.0, *(0.0,) * 11), bias=1.0
)  # the first is anchor_f1
PAGE = ["river", "near", "x", "x", "x", "far"]


def test_terms_near_the_anchor_are_chosen_first():
    found = good_terms(NEARER_IS_BETTER, PAGE, ["river"], ["water"], limit=2)
    assert [term for term, _ in found] == ["near", "x"]
    assert found[0][1] > found[1][1]


def test_terms_of_anchor_and_url_are_not_chosen():
    assert features(PAGE, ["river"], ["far"])[0] == ("near", "x")


def test_an_empty_page_has_no_terms():
    assert good_terms(NEARER_IS_BETTER, [], ["river"], ["water"]) == ()


def test_the_examples_of_a_link_are_terms_that_move_its_target():
    ranks = {"near": 1.0, "far": math.inf}
    rows, good = examples(PAGE, ["river"], ["water"], lambda query: ranks.get(query[-1], 3.0))
    assert good == [True, False]
    assert rows.shape == (2, len(FEATURES))


def test_the_trained_model_separates_terms_and_survives_saving():
    random = np.random.default_rng(1)
    rows = random.normal(size=(200, len(FEATURES)))
    good = rows[:, 0] < 0
    model = loads(dumps(fit(rows, good)))
    assert ((model.probabilities(rows) > 0.5) == good).mean() > 0.9


def test_a_constant_feature_does_no_harm():
    rows = np.zeros((4, len(FEATURES)))
    rows[:, 1] = [0, 1, 0, 1]
    assert np.isfinite(fit(rows, [False, True, False, True]).probabilities(rows)).all()


@pytest.mark.parametrize(
    "change",
    [
        {"version": 99},
        {"features": ["f1"]},
        {"weights": [1.0]},
        {"bias": "x"},
        {"scales": [0.0] * 12},
        {"means": None},
    ],
)
def test_models_of_another_version_are_refused(change):
    saved = json.loads(dumps(NEARER_IS_BETTER)) | change
    with pytest.raises(ModelMismatch):
        loads(json.dumps(saved))


@given(st.text())
def test_invalid_models_are_refused(text):
    with pytest.raises(ModelMismatch):
        loads(text)
