"""URLs as patterns, and the rewritings that explain a move."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repair.moves.patterns import explanations, place_of, readings, scopes

A = "http://a.test"


def parts_of(path):
    return place_of(A + path).parts


def heads(path):
    return {scope.head for scope, _ in scopes("a.test", "", parts_of(path))}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/news/rain", {"", "/rain"}),
        ("/2018-10-11-rain", {"", "date"}),
        ("/20181011-rain", {"", "date"}),
        ("/window.open", {"", "names"}),
        ("/DOM:window.open", {"", "names"}),
        ("/rain.html", {""}),
        ("/1.2.3.4.5", {""}),
        ("/show?id=7", {"", "query"}),
        ("/", {""}),
    ],
)
def test_a_url_is_read_in_every_way_that_it_may_be_meant(path, expected):
    assert {name for name, _ in readings(parts_of(path))} == expected


def test_a_date_and_joined_names_become_parts():
    assert dict(readings(parts_of("/news/2018-10-11-rain")))["date"] == ("news", "2018", "10", "11", "rain")
    assert dict(readings(parts_of("/DOM:window.open")))["names"] == ("DOM", "window", "open")


def test_dates_numbers_and_languages_are_variables_of_their_own_kind():
    assert ("{language}", "{year}", "{number}") in heads("/pt-BR/2018/10/rain")
    assert ("{language}", "{any}") in heads("/pt-BR/news/rain")
    assert ("pt-BR", "news") in heads("/pt-BR/news/rain")
    assert ("pt-BR", "{parts}") in heads("/pt-BR/news/old/rain")


def test_a_pattern_covers_the_parts_above_the_name_or_fewer():
    sizes = {scope.head: size for scope, size in scopes("a.test", "", ("a", "b", "c", "rain"))}
    assert sizes["a", "{any}"] == 2
    assert sizes["a", "{parts}"] == 3
    assert sizes[()] == 0


def test_the_number_of_patterns_and_explanations_is_bounded_whatever_the_url():
    deep = place_of(A + "/a/2018" * 11 + "/2018-10-11-a.b")
    other = place_of(A + "/x" + "/a/2018" * 11 + "/2018-10-11-a.b")
    assert deep is not None
    assert other is not None
    found = [scope for name, parts in readings(deep.parts) for scope in scopes("a.test", name, parts)]
    assert len(found) < 250
    assert sum(1 for _ in explanations(deep, other)) < 250


ADDRESS = st.lists(
    st.sampled_from(["en", "2018", "10", "a-b", "A_B", "a.b", "2018-10-11-a-b", "a-b.html"]), max_size=5
)


@given(ADDRESS, ADDRESS)
def test_every_explanation_makes_the_new_url_of_the_old(old, new):
    here, there = (place_of(f"{A}/{'/'.join(parts)}") for parts in (old, new))
    assert here is not None
    assert there is not None
    for rule in explanations(here, there):
        made = {
            rule.apply(parts, size)
            for name, parts in readings(here.parts)
            for scope, size in scopes("a.test", name, parts)
            if scope == rule.scope
        }
        assert made == {f"{A}/{'/'.join(new)}"}
