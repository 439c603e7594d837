"""Addresses against addresses."""

import pytest

from repair.collection.pages import PageSummary
from repair.knowntargets import KnownTarget, TargetKind
from repair.ranking.features import urls
from repair.ranking.queryfeatures import QueryFeatures
from tests.make import a_broken_link

OLD = "http://a.test/learn/html/tables"


def page(url):
    return PageSummary(page=1, url=url, title="", language="", digest=b"")


def moved(url, **known):
    query_features = QueryFeatures(link=a_broken_link(OLD), terms={}, **known)
    return dict(zip(urls.MOVED, urls.move_columns(query_features, [page(url)])[0].tolist(), strict=True))


def test_a_known_move_supports_only_its_target():
    move = KnownTarget(url="http://a.test/new/tables", kind=TargetKind.MOVE, confidence=0.75, support=3)
    assert moved(move.url, known_targets=(move,))["move.confidence"] == 0.75
    assert moved("http://a.test/new/lists", known_targets=(move,))["move.confidence"] == 0


def test_a_user_choice_is_no_move():
    choice = KnownTarget(url="http://a.test/new/tables", kind=TargetKind.SHARED, confidence=0.9)
    assert moved(choice.url, known_targets=(choice,))["move.confidence"] == 0


def test_pages_of_the_directory_where_others_went_are_nearer_than_those_of_another():
    known = {"directories": {"http://a.test/core/content/": 0.8}}
    there = moved("http://a.test/core/content/tables", **known)["move.directory"]
    beside = moved("http://a.test/core/scripts/tables", **known)["move.directory"]
    elsewhere = moved("http://b.test/core/content/tables", **known)["move.directory"]
    assert there == pytest.approx(0.8)
    assert there > beside > elsewhere == 0


def test_a_home_page_is_looked_for_more_often_than_a_file():
    query_features = QueryFeatures(link=a_broken_link(OLD), terms={})
    home, file = urls.prior_columns(query_features, [page("http://a.test/"), page("http://a.test/x/y.html")])[
        :, 0
    ]
    assert home > file
