"""Formulas over named features."""

import contextlib
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from repair.errors import ModelMismatch
from repair.evaluation.papers.baselines import FORMULA
from repair.evaluation.papers.formula import dumps, loads, parse_formula, shipped_formula, text, values
from repair.evaluation.papers.singlesources import FEATURES

NAMES = ("anchor/tf", "url/lm", "page")
ROWS = np.array([[1.0, 2, 3], [4, 5, 6]])


def test_a_formula_is_evaluated_and_printed():
    tree = parse_formula("add(mul(anchor/tf, page), anchor/tf)", NAMES)
    assert values(tree, ROWS).tolist() == [4, 28]
    assert parse_formula(text(tree, NAMES), NAMES) == tree


def test_dividing_by_zero_gives_the_dividend():
    assert values(("div", 3, 0), np.array([[0.0, 1, 2, 7]])).tolist() == [7]


@pytest.mark.parametrize(
    "wrong", ["", "add(", "nothing", "add(page)", "page page", ")", "add(,)", "add(" * 99 + "page"]
)
def test_invalid_formulas_are_refused(wrong):
    with pytest.raises(ModelMismatch):
        parse_formula(wrong, NAMES)


@given(st.text(alphabet="admuliv(), page", max_size=60))
def test_any_text_parses_or_is_refused(given_text):
    with contextlib.suppress(ModelMismatch):
        tree = parse_formula(given_text, NAMES)
        assert parse_formula(text(tree, NAMES), NAMES) == tree


def test_a_saved_formula_loads_even_after_features_are_added():
    saved = dumps(("mul", 0, 2), NAMES, {"R@1": 0.5})
    assert loads(saved, ("new", *NAMES)) == ("mul", 1, 3)


@pytest.mark.parametrize(
    "change", [{"version": 99}, {"format": "x"}, {"formula": "old/feature"}, {"about": 1}]
)
def test_files_of_another_format_are_refused(change):
    saved = json.loads(dumps(0, NAMES, {})) | change
    with pytest.raises(ModelMismatch):
        loads(json.dumps(saved).encode(), NAMES)


def test_the_shipped_formula_loads_and_gives_none_for_other_features():
    assert shipped_formula(FORMULA, FEATURES) is not None
    assert shipped_formula(FORMULA, NAMES) is None
    assert shipped_formula("nowhere.json", NAMES) is None
