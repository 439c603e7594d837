"""Fingerprints and exact measures."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repair.text.fingerprints import (
    LEAST_TERMS,
    NEAR,
    SAME,
    Fingerprints,
    SamePages,
    cosine,
    dice,
    distance,
    fingerprint,
    resemblance,
    shingles,
    tanimoto,
    vector,
)

WORDS = [f"word{number}" for number in range(300)]
PRINT = st.integers(0, 2**64 - 1)
VECTOR = st.dictionaries(st.sampled_from("abcdef"), st.floats(0.1, 100), max_size=6)


def test_the_same_text_has_the_same_fingerprint():
    assert fingerprint(WORDS) == fingerprint(list(WORDS))


def test_a_text_with_a_word_changed_is_near_and_another_text_is_far():
    changed = [*WORDS[:100], "other", *WORDS[101:]]
    assert distance(fingerprint(WORDS), fingerprint(changed)) <= NEAR
    assert distance(fingerprint(WORDS), fingerprint([f"else{number}" for number in range(300)])) > NEAR


def test_a_short_text_has_no_fingerprint():
    assert fingerprint(WORDS[: LEAST_TERMS - 1]) is None
    assert fingerprint(WORDS[:LEAST_TERMS]) is not None


def test_the_nearest_come_first():
    prints = Fingerprints([(1, 0b1111), (2, 0b1), (3, 0), (4, 2**64 - 1)])
    assert prints.near(0, within=4) == ((3, 0), (2, 1), (1, 4))
    assert prints.near(0, within=4, limit=1) == ((3, 0),)
    assert Fingerprints().near(0) == ()


@given(st.lists(PRINT, max_size=30), PRINT, st.integers(0, 64))
def test_lookup_finds_the_same_as_comparing_one_by_one(prints, wanted, within):
    found = Fingerprints(enumerate(prints)).near(wanted, within=within, limit=100)
    assert sorted(found) == [
        (at, distance(wanted, each)) for at, each in enumerate(prints) if distance(wanted, each) <= within
    ]


def test_shingles_are_term_n_grams():
    assert shingles(["a", "b", "c", "d"], 3) == {("a", "b", "c"), ("b", "c", "d")}
    assert shingles(["a"], 3) == {("a",)}
    assert shingles([], 3) == frozenset()


def test_resemblance_is_shared_shingles_over_all_shingles():
    assert resemblance(shingles(list("abcd"), 1), shingles(list("cdef"), 1)) == pytest.approx(2 / 6)
    assert resemblance(frozenset(), frozenset()) == 0.0


def test_the_measures_are_those_of_the_paper():
    left, right = vector(["a", "a", "b"]), vector(["a", "c"])
    assert tanimoto(left, right) == pytest.approx(2 / (5 + 2 - 2))
    assert dice(left, right) == pytest.approx(2 * 2 / (5 + 2))
    assert cosine(left, right) == pytest.approx(2 / (5 * 2) ** 0.5)


@given(VECTOR, VECTOR)
def test_every_measure_is_symmetric_and_between_0_and_1(left, right):
    for measure in (cosine, dice, tanimoto):
        assert 0.0 <= measure(left, right) <= 1.0
        assert measure(left, right) == pytest.approx(measure(right, left))


@given(VECTOR)
def test_a_text_is_fully_similar_to_itself(terms):
    for measure in (cosine, dice, tanimoto):
        assert measure(terms, terms) == (pytest.approx(1.0) if terms else 0.0)


@given(st.lists(st.text(max_size=5), max_size=60))
def test_any_terms_have_a_fingerprint_of_64_bits(terms):
    found = fingerprint(terms)
    assert found is None or 0 <= found < 2**64


def test_order_changes_a_fingerprint_less_than_words_do():
    shuffled = random.Random(1).sample(WORDS, len(WORDS))
    others = [f"else{number}" for number in range(300)]
    assert distance(fingerprint(WORDS), fingerprint(shuffled)) < distance(
        fingerprint(WORDS), fingerprint(others)
    )


@given(st.integers(0, 2**64 - 1), st.sets(st.integers(0, 63), max_size=6))
def test_same_pages_are_found_whichever_bits_differ(value, flipped):
    pages = SamePages()
    pages.add(value)
    assert pages.has_near(value ^ sum(1 << bit for bit in flipped)) == (len(flipped) <= SAME)
