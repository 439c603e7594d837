"""Priors by URL type and inlinks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repair.ranking.priors import UrlType, combined_prior, inlink_prior, url_prior, url_type


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("http://school.test", UrlType.ROOT),
        ("http://school.test/index.html", UrlType.ROOT),
        ("http://school.test/pubs/", UrlType.SUBROOT),
        ("http://school.test/pubs/Index.php", UrlType.SUBROOT),
        ("http://school.test/pubs/2001/papers/", UrlType.PATH),
        ("http://school.test/pubs/proceedings.html", UrlType.FILE),
        ("http://school.test/?p=3", UrlType.FILE),
        ("nonsense", UrlType.FILE),
    ],
)
def test_an_address_has_one_of_four_types(url, kind):
    assert url_type(url) is kind


def test_the_priors_are_those_of_table_9():
    assert combined_prior(UrlType.ROOT, 0) == pytest.approx(39 / 8938)
    assert combined_prior(UrlType.ROOT, 11) == pytest.approx(25 / 2905)
    assert combined_prior(UrlType.ROOT, 1000) == pytest.approx(11 / 377)
    assert combined_prior(UrlType.ROOT, 5000) == pytest.approx(4 / 38)
    assert combined_prior(UrlType.FILE, 5000) == pytest.approx(6 / 1_557_719)


def test_the_higher_in_the_tree_the_likelier():
    priors = [url_prior(kind) for kind in UrlType]
    assert priors == sorted(priors, reverse=True)


def test_inlinks_count_by_their_share():
    assert inlink_prior(3, 12) == 0.25
    assert inlink_prior(3, 0) == 0.0


@given(st.text(max_size=80))
def test_any_text_has_a_type(text):
    assert url_type(text) in UrlType
