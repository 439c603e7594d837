import numpy as np
import pytest
from rank_bm25 import BM25Okapi

from repair.ranking import scoring

TF = np.array([[2.0, 0.0], [1.0, 1.0], [0.0, 0.0]])
BOTH = np.array([[1.0, 1.0]])


def test_bm25_ranks_as_the_reference_does():
    texts = [["a", "a", "x"], ["a", "b", "x", "y"], ["x"], ["y", "y"], ["z"]]
    lengths = np.array([len(text) for text in texts], float)
    tf = np.array([[text.count(term) for term in "ab"] for text in texts], float)
    reference = BM25Okapi(texts, k1=1.2, b=0.75)
    rarity = np.array([reference.idf[term] for term in "ab"])
    ours = scoring.bm25(tf, lengths, lengths.mean(), rarity, BOTH)[:, 0] * 2.2
    assert ours == pytest.approx(reference.get_scores(["a", "b"]))


def test_a_rarer_term_counts_more():
    rare, common = scoring.idf(np.array([1.0, 50.0]), 100)
    assert rare > common > 0


def test_likelihoods_prefer_the_page_with_both_terms():
    background = np.array([0.01, 0.001])
    lengths = np.array([10.0, 10.0, 10.0])
    for found in (
        scoring.dirichlet(TF, lengths, background, BOTH),
        scoring.jelinek_mercer(TF, lengths, background, BOTH),
    ):
        assert found[:, 0].argmax() == 1
        assert found[:, 0].argmin() == 2


def test_a_term_that_the_collection_lacks_tells_nothing():
    found = scoring.dirichlet(TF, np.full(3, 10.0), np.zeros(2), BOTH)[:, 0]
    assert np.ptp(found) == 0


def test_dice_and_tanimoto_are_one_for_the_same_set_and_zero_for_none_in_common():
    common, distinct = scoring.shared_terms(TF, BOTH), np.array([1.0, 2.0, 3.0])
    sizes = np.array([2.0])
    assert scoring.dice(common, distinct, sizes)[1:, 0].tolist() == [1, 0]
    assert scoring.tanimoto(common, distinct, sizes)[:, 0].tolist() == [0.5, 1, 0]


def test_coverage_weighs_by_rarity():
    found = scoring.coverage(TF, np.array([1.0, 3.0]), BOTH)[:, 0]
    assert found.tolist() == [0.25, 1, 0]


def test_cosine_and_divergence_of_the_same_text():
    text = np.array([1.0, 2.0, 0.0])
    assert scoring.cosine(text, text) == pytest.approx(1)
    assert scoring.cosine(text, np.zeros(3)) == 0
    assert scoring.divergence(text, text) == pytest.approx(0, abs=1e-4)
    assert scoring.divergence(text, np.array([0.0, 0.0, 1.0])) > 1
