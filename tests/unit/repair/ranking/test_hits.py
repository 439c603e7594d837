"""Hubs and authorities."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from repair.ranking import hits as module


def hits(links, size):
    pairs = np.array(links, np.int64).reshape(-1, 2)
    return module.hits(pairs[:, 0], pairs[:, 1], size)


def test_hubs_and_authorities_are_those_of_a_hand_computed_example():
    # 0 links to 2 and 3, 1 links to 2: the authorities' matrix is [[2, 1], [1, 1]] over pages 2 and 3, whose
    # first eigenvector is (golden ratio, 1); the hubs' likewise over pages 0 and 1.
    hubs, authorities = hits([(0, 2), (0, 3), (1, 2)], 5)
    golden = (1 + 5**0.5) / 2
    assert authorities.tolist() == pytest.approx([0, 0, 1, 1 / golden, 0], abs=1e-4)
    assert hubs.tolist() == pytest.approx([1, 1 / golden, 0, 0, 0], abs=1e-4)


def test_a_link_to_itself_does_not_count():
    once = hits([(0, 1), (2, 3), (2, 1)], 4)
    again = hits([(0, 1), (2, 3), (2, 1), (3, 3)], 4)
    assert [each.tolist() for each in again] == [each.tolist() for each in once]


@pytest.mark.parametrize("size", [0, 1, 3])
def test_without_links_all_scores_are_zero(size):
    hubs, authorities = hits([], size)
    assert hubs.tolist() == authorities.tolist() == [0.0] * size


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=60))
def test_any_links_give_shares_between_0_and_1(links):
    for shares in hits(links, 10):
        assert np.isfinite(shares).all()
        assert ((shares >= 0) & (shares <= 1)).all()
