"""Proximity of terms to seeds."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from repair.evaluation.papers.proximity import NAMES, proximity

#       0     1     2      3       4    5     6
PAGE = ["a", "near", "s", "both", "u", "far", "a"]


def row(page, seeds, term, **known):
    terms, rows = proximity(page, seeds, **known)
    return dict(zip(NAMES, rows[terms.index(term)], strict=True))


def test_seeds_themselves_are_no_candidates():
    assert proximity(PAGE, ["s", "u"])[0] == ("a", "near", "both", "far")


def test_the_six_features_are_those_of_the_paper():
    found = row(PAGE, ["s", "u"], "far", window=1)
    assert found["f1"] == pytest.approx((math.log1p(3) + math.log1p(1)) / 2)
    assert found["f2"] == found["f3"] == pytest.approx(math.log1p(4))
    assert found["f4"] == pytest.approx((math.log1p(3) + math.log1p(1)) / 2)
    assert found["f5"] == pytest.approx(math.log(0.5))
    assert found["f6"] == pytest.approx(math.log(0.001))


def test_a_term_between_two_seeds_meets_both():
    assert row(PAGE, ["s", "u"], "both", window=1)["f6"] == pytest.approx(math.log(1 / 2))


def test_the_least_distance_and_the_mean_position_are_over_all_occurrences():
    found = row(PAGE, ["s"], "a")
    assert found["f1"] == pytest.approx(math.log1p(2))
    assert found["f4"] == pytest.approx(math.log1p(1))


def test_a_seed_that_the_page_lacks_is_as_far_as_the_page_is_long():
    assert row(PAGE, ["absent"], "a")["f1"] == pytest.approx(math.log1p(7))


def test_nearer_terms_have_smaller_distances_and_meet_more():
    page = ["seed", "near", *["x"] * 50, "far"]
    near, far = row(page, ["seed"], "near"), row(page, ["seed"], "far")
    assert all(near[name] < far[name] for name in ("f1", "f2", "f3", "f4"))
    assert all(near[name] > far[name] for name in ("f5", "f6"))


@given(st.lists(st.sampled_from("abcdef"), max_size=40), st.lists(st.sampled_from("abcxyz"), max_size=10))
def test_every_page_and_seed_gives_finite_rows(page, seeds):
    terms, rows = proximity(page, seeds)
    assert rows.shape == (len(terms), len(NAMES))
    assert set(terms) == set(page) - set(seeds)
    assert np.isfinite(rows).all()
