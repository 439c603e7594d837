"""Exact scores over a whole collection."""

import numpy as np
import pytest
from rank_bm25 import BM25Okapi

from repair.evaluation.papers.postings import WEIGHTINGS, Postings, best
from tests.holdings import a_collection, a_document

TEXTS = {
    "/a": "rain rain river",
    "/b": "rain snow cloud storm",
    "/c": "river",
    "/d": "stone stone",
    "/e": "moss",
    "/f": "storm cloud",
}


@pytest.fixture
def postings(tmp_path):
    documents = [a_document(url, title="", text=text) for url, text in TEXTS.items()]
    with a_collection(tmp_path, *documents) as collection:
        yield Postings(collection)


def scores(postings, terms, weighting):
    matched = postings.match(terms)
    return dict(zip(matched.places.tolist(), WEIGHTINGS[weighting](matched).tolist(), strict=True))


def test_only_pages_with_a_term_are_scored_and_tf_counts_its_occurrences(postings):
    assert scores(postings, ["rain", "river"], "tf") == {0: 3, 1: 1, 2: 1}


def test_df_weights_matching_terms_by_rarity(postings):
    assert scores(postings, ["rain", "snow"], "df") == pytest.approx({0: 4 / 6, 1: 4 / 6 + 5 / 6})


def test_bm25_ranks_like_the_reference_implementation(postings):
    reference = BM25Okapi([text.split() for text in TEXTS.values()], k1=1.2, b=0.75)
    wanted = reference.get_scores(["snow", "storm"])
    found = scores(postings, ["snow", "storm"], "bm25")
    assert sorted(found, key=lambda place: -found[place]) == [1, 5]
    assert wanted[1] > wanted[5] > 0


def test_the_language_model_prefers_the_shorter_page_of_two_with_the_term_once(postings):
    found = scores(postings, ["storm"], "lm")
    assert found[5] > found[1]


def test_repeated_terms_count_once_and_unseen_terms_not_at_all(postings):
    once = scores(postings, ["rain"], "bm25")
    assert scores(postings, ["rain", "rain"], "bm25") == once
    assert scores(postings, ["rain", "unheard"], "bm25") == pytest.approx(once)
    assert scores(postings, [], "tf") == scores(postings, ["unheard"], "tf") == {}


def test_df_and_background_probability_of_a_term(postings):
    assert (postings.df("rain"), postings.df("unheard"), postings.size) == (2, 0, 6)
    assert postings.background("rain") == pytest.approx(3 / postings.lengths.sum())
    assert postings.background("unheard") == pytest.approx(0.5 / postings.lengths.sum())


def test_the_url_terms_of_a_page_count_as_its_text(postings):
    assert postings.df("school") == len(TEXTS)


def test_the_best_come_first_and_equal_ones_keep_their_order():
    places, values = np.arange(6), np.array([1.0, 3.0, 2.0, 3.0, 2.0, 2.0])
    assert best(places, values, 4).tolist() == [1, 3, 2, 4]
    assert best(places, values, 9).tolist() == [1, 3, 2, 4, 5, 0]
