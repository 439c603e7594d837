"""Formulas over named features."""

import contextlib
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from repair.errors import ModelMismatch
from repair.papers.formula import dumps, loads, parsed, shipped, text, values
from repair.papers.rivals import FORMULA
from repair.papers.singles import FEATURES

NAMES = ("anchor/tf", "url/lm", "page")
ROWS = np.array([[1.0, 2, 3], [4, 5, 6]])


def test_a_formula_says_what_it_computes():
    tree = parsed("add(mul(anchor/tf, page), anchor/tf)", NAMES)
    assert values(tree, ROWS).tolist() == [4, 28]
    assert parsed(text(tree, NAMES), NAMES) == tree


def test_dividing_by_nothing_gives_the_dividend():
    assert values(("div", 3, 0), np.array([[0.0, 1, 2, 7]])).tolist() == [7]


@pytest.mark.parametrize(
    "wrong", ["", "add(", "nothing", "add(page)", "page page", ")", "add(,)", "add(" * 99 + "page"]
)
def test_what_is_no_formula_is_refused(wrong):
    with pytest.raises(ModelMismatch):
        parsed(wrong, NAMES)


@given(st.text(alphabet="admuliv(), page", max_size=60))
def test_any_text_is_a_formula_or_refused(given_text):
    with contextlib.suppress(ModelMismatch):
        tree = parsed(given_text, NAMES)
        assert parsed(text(tree, NAMES), NAMES) == tree


def test_a_formula_survives_saving_also_when_features_are_added():
    saved = dumps(("mul", 0, 2), NAMES, {"R@1": 0.5})
    assert loads(saved, ("new", *NAMES)) == ("mul", 1, 3)


@pytest.mark.parametrize(
    "change", [{"version": 99}, {"format": "x"}, {"formula": "old/feature"}, {"about": 1}]
)
def test_another_file_is_refused(change):
    saved = json.loads(dumps(0, NAMES, {})) | change
    with pytest.raises(ModelMismatch):
        loads(json.dumps(saved).encode(), NAMES)


def test_the_formula_over_single_sources_ships_and_one_of_other_features_is_none():
    assert shipped(FORMULA, FEATURES) is not None
    assert shipped(FORMULA, NAMES) is None
    assert shipped("nowhere.json", NAMES) is None
