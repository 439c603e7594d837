"""The passage that shows why a page was found."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repair.text.snippets import ELLIPSIS, snippet

FILLER = "Nothing of interest is said in this sentence here. " * 20


def text_of(spans):
    return "".join(span.text for span in spans)


def marked(spans):
    return [span.text for span in spans if span.marked]


def test_matching_words_are_marked_whatever_their_form():
    spans = snippet("The Libraries of our school", ["library", "schools"])
    assert marked(spans) == ["Libraries", "school"]
    assert text_of(spans) == "The Libraries of our school"


def test_terms_of_the_index_match_too():
    assert marked(snippet("The libraries", ["librari"])) == ["libraries"]


def test_the_window_with_the_most_different_words_is_chosen():
    text = f"{FILLER} lava lava lava {FILLER} lava and ash {FILLER}"
    spans = snippet(text, ["lava", "ash"], width=60)
    assert marked(spans) == ["lava", "ash"]
    assert text_of(spans).startswith(ELLIPSIS)
    assert text_of(spans).endswith(ELLIPSIS)


def test_without_a_match_the_text_begins_at_its_beginning():
    spans = snippet(FILLER, ["volcano"], width=60)
    assert text_of(spans) == "Nothing of interest is said in this sentence here. Nothing" + ELLIPSIS
    assert marked(spans) == []


def test_no_word_is_cut_in_two():
    words = set(FILLER.split()) | {"lava"}
    spans = snippet(f"{FILLER} lava {FILLER}", ["lava"], width=80)
    assert set(text_of(spans).strip(ELLIPSIS).split()) <= words


def test_scripts_without_spaces_are_marked_by_the_characters_that_match():
    assert marked(snippet("学校の図書館は月曜日に開く", ["図書館"])) == ["図書館"]


@pytest.mark.parametrize("text", ["", " \n\t ", "\x00"])
def test_an_empty_text_has_no_snippet(text):
    assert snippet(text, ["x"]) == ()


@given(
    st.text(max_size=400), st.lists(st.text(max_size=8), max_size=5), st.integers(min_value=-5, max_value=300)
)
def test_a_snippet_is_a_piece_of_the_text(text, words, width):
    spans = snippet(text, words, width=width)
    collapsed = " ".join("".join(c for c in text if (c >= " " and c != "\x7f") or c.isspace()).split())
    inner = spans[1:] if spans and spans[0].text == ELLIPSIS and not collapsed.startswith(ELLIPSIS) else spans
    body = text_of(inner)
    assert body in collapsed or body[:-1] in collapsed
    assert all(span.text for span in spans)
    assert len(text_of(spans)) <= max(1, width) + 2


def test_a_huge_text_takes_a_bounded_time():
    started = time.thread_time()
    snippet("lava " * 1_000_000, ["lava"])
    snippet("学" * 1_000_000, ["学学"])
    assert time.thread_time() - started < 3
