import pytest
from hypothesis import given

from proxy.headers.cachecontrol import max_stale_s, request_directives, response_directives
from proxy.headers.fields import LARGEST_DELTA_S
from tests.caching import FIELD_TEXT, cc


def read(*lines):
    return response_directives(tuple(cc(line) for line in lines))


def asked(*headers):
    return request_directives(headers)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("max-age=3600", 3600),
        ("MaX-aGe=3600", 3600),
        ("foobar, max-age=3600", 3600),
        ('max-age="3600"', 3600),
        ("max-age=003600", 3600),
        ("max-age=99999999999", LARGEST_DELTA_S),
        ("max-age=-3600", 0),
        ("max-age='3600'", 0),
        ("max-age=3600.5", 0),
        ("max-age=a3600", 0),
        ("max-age", 0),
        ("max-age=", 0),
        ("max-age=1800, max-age=1", 1),
        ('extension="max-age=3600", max-age=1', 1),
        ('max-age=1, extension="max-age=3600"', 1),
        ('extension="max-age=3600"', None),
        ("", None),
    ],
)
def test_a_malformed_max_age_is_zero(text, expected):
    assert read(text).delta("max-age") == expected


def test_several_lines_are_one_list():
    both = read("max-age=3600", "s-maxage=1")
    assert (both.delta("max-age"), both.delta("s-maxage")) == (3600, 1)


def test_no_cache_with_a_list_of_fields_is_not_no_cache():
    some = read('no-cache="a, B"', "max-age=3600")
    assert not some.has_unqualified("no-cache")
    assert some.field_names("no-cache") == {"a", "b"}


@pytest.mark.parametrize("text", ["no-cache", "No-CaChE", 'no-cache=""', "no-cache="])
def test_no_cache_without_fields_is_no_cache(text):
    assert read(text).has_unqualified("no-cache")


def test_pragma_counts_only_without_cache_control():
    assert "no-cache" in asked(("Pragma", "x, No-Cache"))
    assert "no-cache" not in asked(("Pragma", "no-cache"), cc("max-age=5"))
    assert "no-cache" not in asked(("Pragma", "something"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [("max-stale", LARGEST_DELTA_S), ("max-stale=1000", 1000), ("max-stale=x", 0), ("no-cache", 0)],
)
def test_max_stale_without_a_number_accepts_anything(text, expected):
    assert max_stale_s(asked(cc(text))) == expected


@given(FIELD_TEXT)
def test_nothing_raises_whatever_the_text(text):
    directives = read(text)
    for name in directives.by_name:
        assert directives.delta(name) >= 0
        directives.has_unqualified(name)
        directives.field_names(name)


def test_a_quotation_mark_that_is_never_closed_hides_nothing_in_another_line():
    said = response_directives((("Cache-Control", 'max-age=60, x="'), ("Cache-Control", "no-store")))
    assert "no-store" in said
    assert said.delta("max-age") == 60


def test_an_overlong_cache_control_forbids_storing():
    said = response_directives((("Cache-Control", 'max-age=60, x="' + "a" * 10_000 + '"'),))
    assert "no-store" in said
    assert "max-age" not in said
