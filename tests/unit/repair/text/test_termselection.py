"""Choosing terms."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repair.text.termselection import (
    background_of,
    by_divergence,
    by_frequency,
    by_tf_idf,
    drop_common,
    lexical_signature,
)

TEXT = ["web", "web", "web", "rain", "rain", "cloud"]
DF = {"web": 90, "rain": 5, "cloud": 10}


def df(term):
    return DF.get(term, 0)


def names(weighted):
    return [term for term, _ in weighted]


def test_terms_that_most_pages_have_are_left_out():
    assert drop_common(TEXT, df, 100) == ["rain", "rain", "cloud"]
    assert drop_common(["x"], lambda _: 40, 100) == []
    assert drop_common(["x"], lambda _: 39, 100) == ["x"]


def test_without_a_collection_every_term_is_kept():
    assert drop_common(TEXT, df, 0) == TEXT


def test_frequency_prefers_the_most_frequent_terms():
    assert by_frequency(TEXT, 2) == (("web", 3.0), ("rain", 2.0))


def test_tf_idf_prefers_rare_terms():
    assert by_tf_idf(TEXT, df, 100, 3)[0] == ("rain", pytest.approx(2 * math.log(20)))
    assert names(by_tf_idf(TEXT, df, 100, 3)) == ["rain", "cloud", "web"]


def test_a_term_of_every_page_weighs_nothing():
    assert by_tf_idf(["x"], lambda _: 100, 100, 5) == ()


def test_divergence_is_p_log_p_over_q():
    background = background_of(lambda term: {"web": 600, "rain": 10, "cloud": 20}[term], 1000)
    found = dict(by_divergence(TEXT, background, 5))
    assert found["rain"] == pytest.approx(2 / 6 * math.log((2 / 6) / 0.01))
    assert "web" not in found


def test_the_same_term_weighs_more_against_texts_than_against_addresses():
    texts, addresses = background_of(lambda _: 1, 1000), background_of(lambda _: 300, 1000)
    assert (
        dict(by_divergence(["docs", "x"], texts, 2))["docs"]
        > dict(by_divergence(["docs", "x"], addresses, 2))["docs"]
    )


def test_a_signature_has_five_terms_unless_seven_are_wanted():
    terms = list("abcdefgh")
    assert len(lexical_signature(terms, df, 100)) == 5
    assert len(lexical_signature(terms, df, 100, 7)) == 7


@given(st.lists(st.sampled_from(["web", "rain", "cloud", "new"])), st.integers(-1, 9), st.integers(0, 200))
def test_weights_fall_and_are_never_negative(terms, limit, pages):
    background = background_of(df, pages)
    for found in (
        by_frequency(terms, limit),
        by_tf_idf(terms, df, pages, limit),
        by_divergence(terms, background, limit),
    ):
        weights = [weight for _, weight in found]
        assert weights == sorted(weights, reverse=True)
        assert all(weight > 0 for weight in weights)
        assert len(found) <= max(limit, 0)
