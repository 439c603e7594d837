"""When to offer, and how sure to be, by a school's own links."""

import numpy as np
import pytest

from repair.learning.owncalibration import OwnRankings, own_sureness, own_threshold


def rankings(links, *, right_at, wrong_at, sure=0.0, right_share=1.0):
    """As many links with their page as without; log-odds lie closely around the given ones."""
    spread = np.random.default_rng(0).normal(0, 0.2, links)
    is_right = np.arange(links) < right_share * links
    return OwnRankings(
        offer=np.concatenate((right_at + spread, wrong_at + spread)),
        sure=np.full(2 * links, sure),
        right=np.concatenate((is_right, np.zeros(links, bool))),
        unrelated=np.repeat([False, True], links),
    )


def odds(probability):
    return float(np.log(probability / (1 - probability)))


def test_a_site_whose_right_pages_look_doubtful_gets_its_lists():
    found = own_threshold(rankings(200, right_at=-0.5, wrong_at=-3.0), 0.5)
    assert -2.8 < odds(found) < -0.8


def test_a_site_whose_wrong_pages_look_good_gets_fewer():
    assert odds(own_threshold(rankings(200, right_at=3.0, wrong_at=1.0), 0.5)) > 1.2


def test_a_few_links_change_little():
    few, many = (own_threshold(rankings(links, right_at=-1.0, wrong_at=-3.0), 0.5) for links in (4, 400))
    assert odds(many) < odds(few) <= 0


def test_without_links_the_default_stays():
    assert own_threshold(rankings(0, right_at=0, wrong_at=0), 0.37) == 0.37
    assert own_sureness(rankings(0, right_at=0, wrong_at=0)) == 0


@pytest.mark.parametrize(("share", "sign"), [(0.95, 1), (0.5, 0), (0.1, -1)])
def test_sureness_follows_how_often_the_first_page_is_right(share, sign):
    assert np.sign(own_sureness(rankings(200, right_at=1, wrong_at=-1, right_share=share))) == sign
