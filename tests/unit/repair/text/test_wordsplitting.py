"""Glued words taken apart by the collection."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repair.text.wordsplitting import WordSplitter

DF = {"water": 200, "cycl": 80, "wat": 3, "ercycl": 0, "school": 300, "librari": 50, "world": 400, "histori": 90,
      "photosynthesi": 12, "photo": 60, "synthesi": 10, "rain": 30, "forest": 40, "rainforest": 25}  # fmt: skip


@pytest.fixture
def splitter():
    return WordSplitter(lambda term: DF.get(term, 0), lambda: 1000)


@pytest.mark.parametrize(
    ("glued", "expected"),
    [
        ("watercycle", ("water", "cycle")),
        ("SchoolLibrary", ("school", "library")),
        ("worldofwater", ("world", "of", "water")),
        ("schoollibraryhistory", ("school", "library", "history")),
    ],
)
def test_compounds_are_split(splitter, glued, expected):
    assert splitter.split(glued) == expected


@pytest.mark.parametrize(
    "word",
    [
        "photosynthesis",
        "rainforest",
        "water",
        "xyzzyplugh",
        "waterxq",
        "awater",
        "water2cycle",
        "水循环水循环水循环",
    ],
)
def test_known_words_and_unsplittable_words_stay_whole(splitter, word):
    assert splitter.split(word) == (word,)


@given(st.text(max_size=50))
def test_splitting_loses_no_letters(text):
    split = WordSplitter(lambda term: DF.get(term, 0), lambda: 1000).split(text)
    assert "".join(split) == text.lower()
