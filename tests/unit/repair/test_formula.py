import contextlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from repair.errors import ModelMismatch
from repair.features import FEATURES
from repair.formula import parsed, text, values

ROWS = np.arange(2 * len(FEATURES), dtype=float).reshape(2, -1)


def test_a_formula_says_what_it_computes():
    tree = parsed("add(mul(anchor.title, slug.body), anchor.title)")
    anchor, slug = (ROWS[:, FEATURES.index(name)] for name in ("anchor.title", "slug.body"))
    assert values(tree, ROWS).tolist() == (anchor * slug + anchor).tolist()
    assert parsed(text(tree)) == tree


def test_dividing_by_nothing_gives_the_dividend():
    assert values(("div", 3, 0), np.array([[0.0, 1, 2, 7]])).tolist() == [7]


@pytest.mark.parametrize(
    "wrong", ["", "add(", "nothing", "add(anchor.title)", "anchor.title anchor.title", ")", "add(,)"]
)
def test_what_is_no_formula_is_refused(wrong):
    with pytest.raises(ModelMismatch):
        parsed(wrong)


@given(st.text(alphabet="admuliv(), anchor.title", max_size=60))
def test_any_text_is_a_formula_or_refused(given_text):
    with contextlib.suppress(ModelMismatch):
        assert parsed(text(parsed(given_text))) == parsed(given_text)
