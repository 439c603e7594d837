"""repair.soft404.sketch: texts known again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repair.fingerprints import resemblance, shingles
from repair.soft404.sketch import KEPT, likeness, sketch

WORDS = [f"word{number}" for number in range(100)]


def test_the_same_text_is_alike_and_another_is_not():
    assert likeness(sketch(WORDS), sketch(WORDS)) == 1.0
    assert likeness(sketch(WORDS), sketch([word + "x" for word in WORDS])) == 0.0


def test_a_word_changed_in_a_long_text_hardly_matters():
    assert likeness(sketch(WORDS), sketch([*WORDS[:50], "other", *WORDS[51:]])) > 0.9


def test_a_text_too_short_is_never_known_again():
    assert sketch(["page", "not", "found"]) == ()
    assert likeness((), ()) == 0.0


def test_a_sketch_is_small_however_long_the_text():
    assert len(sketch([f"word{number}" for number in range(5_000)])) == KEPT


@given(
    st.lists(st.sampled_from(WORDS[:20]), min_size=12, max_size=60),
    st.lists(st.sampled_from(WORDS[:20]), min_size=12, max_size=60),
)
def test_for_short_texts_it_is_the_exact_measure(left, right):
    if sketch(left) and sketch(right):
        assert likeness(sketch(left), sketch(right)) == pytest.approx(
            resemblance(shingles(left), shingles(right))
        )
