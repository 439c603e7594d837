import pytest

from repair.growing.termvectors import TermWeights, cosine, total


def test_rare_terms_weigh_more_and_vectors_have_length_one():
    weights = TermWeights({"lava": 1, "page": 90}.get, 100)
    vector = weights.vector(["lava", "page"])
    assert vector["lava"] > vector["page"]
    assert cosine(vector, vector) == pytest.approx(1.0)


def test_no_terms_are_like_nothing():
    assert cosine(TermWeights(lambda term: 1, 10).vector([]), {"lava": 1.0}) == 0.0


def test_sum_keeps_the_heaviest_terms():
    assert set(total([{"a": 1.0, "b": 0.2}, {"a": 1.0, "c": 0.1}], most=2)) == {"a", "b"}
