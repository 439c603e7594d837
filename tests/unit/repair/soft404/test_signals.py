from hypothesis import given
from hypothesis import strategies as st

from repair.soft404 import signals

WORDS = st.sampled_from(["Rain", "falls.", "Why?", "e.g.", "404", "Oh!", "...", "é", "雨。", "…"])


@given(st.lists(WORDS).map(" ".join))
def test_short_cuts_find_the_same_sentences(text):
    assert signals._sentences(text) == signals._SENTENCE_END.split(text)
