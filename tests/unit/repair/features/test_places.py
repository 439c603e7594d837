"""Addresses against addresses."""

import pytest

from repair.clues import Clues
from repair.features import places
from repair.pages import Brief
from repair.pointers import Kind, Pointer
from tests.make import a_broken_link

OLD = "http://a.test/learn/html/tables"


def page(url):
    return Brief(page=1, url=url, title="", language="", digest=b"")


def moved(url, **known):
    clues = Clues(link=a_broken_link(OLD), terms={}, **known)
    return dict(zip(places.MOVED, places.moved(clues, [page(url)])[0].tolist(), strict=True))


def test_a_known_move_speaks_for_the_page_it_names_alone():
    move = Pointer(url="http://a.test/new/tables", kind=Kind.MOVE, confidence=0.75, support=3)
    assert moved(move.url, pointers=(move,))["move.confidence"] == 0.75
    assert moved("http://a.test/new/lists", pointers=(move,))["move.confidence"] == 0


def test_a_reader_s_choice_is_no_move():
    choice = Pointer(url="http://a.test/new/tables", kind=Kind.SHARED, confidence=0.9)
    assert moved(choice.url, pointers=(choice,))["move.confidence"] == 0


def test_pages_of_the_directory_where_others_went_are_nearer_than_those_of_another():
    known = {"directories": {"http://a.test/core/content/": 0.8}}
    there = moved("http://a.test/core/content/tables", **known)["move.directory"]
    beside = moved("http://a.test/core/scripts/tables", **known)["move.directory"]
    elsewhere = moved("http://b.test/core/content/tables", **known)["move.directory"]
    assert there == pytest.approx(0.8)
    assert there > beside > elsewhere == 0


def test_a_home_page_is_looked_for_more_often_than_a_file():
    clues = Clues(link=a_broken_link(OLD), terms={})
    home, file = places.priors(clues, [page("http://a.test/"), page("http://a.test/x/y.html")])[:, 0]
    assert home > file
