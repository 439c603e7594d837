"""repair.soft404.sketch: recognising texts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repair.soft404.sketch import ALIKE, KEPT, likeness, sketch, sketch_of
from repair.text.fingerprints import resemblance, shingles
from tests.make import a_page

WORDS = [f"word{number}" for number in range(100)]


def test_only_the_same_text_is_alike():
    assert likeness(sketch(WORDS), sketch(WORDS)) == 1.0
    assert likeness(sketch(WORDS), sketch([word + "x" for word in WORDS])) == 0.0


def test_a_word_changed_in_a_long_text_hardly_matters():
    assert likeness(sketch(WORDS), sketch([*WORDS[:50], "other", *WORDS[51:]])) > 0.9


def test_a_short_text_is_never_recognised():
    assert sketch(["page", "not", "found"]) == ()
    assert likeness((), ()) == 0.0


def test_a_sketch_is_small_however_long_the_text():
    assert len(sketch([f"word{number}" for number in range(5_000)])) == KEPT


@given(
    st.lists(st.sampled_from(WORDS[:20]), min_size=12, max_size=60),
    st.lists(st.sampled_from(WORDS[:20]), min_size=12, max_size=60),
)
def test_short_texts_give_the_exact_jaccard_index(left, right):
    if sketch(left) and sketch(right):
        assert likeness(sketch(left), sketch(right)) == pytest.approx(
            resemblance(shingles(left), shingles(right))
        )


BLOCKS = (
    "<p>Rain falls on the hills.",
    "<p>Clouds.",
    "<nav>Home and all lessons</nav>",
    "<h1>Water here and there</h1>",
)
bodies = st.lists(st.sampled_from([*BLOCKS, *(f"<p>{word} rises to the sky" for word in WORDS)]), max_size=60)


@given(bodies, bodies.map(lambda blocks: blocks[:3]), st.integers(0, 60))
def test_a_page_is_left_unparsed_only_where_it_cannot_be_alike(shared, more, at):
    page, known = (a_page(body="".join(body).encode()) for body in (shared[:at] + more + shared[at:], shared))
    exactly = likeness(sketch_of(page), sketch_of(known))
    quickly = likeness(sketch_of(page, like=len(sketch_of(known))), sketch_of(known))
    assert quickly == exactly or (quickly == 0.0 and exactly < ALIKE)


def test_a_page_longer_than_known_sketches_is_left_unparsed():
    page = a_page(body=b"<p>" + " ".join(WORDS).encode() + b"<p>The end.")
    assert len(sketch_of(page, like=99)) == 100
    assert sketch_of(page, like=80) == ()
