import pytest
from hypothesis import given
from hypothesis import strategies as st

from repair.crawling.traps import ShapeLimits, shape_of, trap_in

HOST = "http://a.test"


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/events/2026/05/03", "calendar"),
        ("/list?month=5", "calendar"),
        ("/a;jsessionid=0123", "session"),
        ("/a?PHPSESSID=0123", "session"),
        ("/(S(abcdefghij0123456789abcd))/a", "session"),
        ("/a?b=1&c=2&d=3&e=4&f=5", "parameters"),
        ("/a?b=1&b=2", "parameters"),
        ("/a/b/a/b/a/b", "repeats"),
        ("/" + "/".join("abcdefghijklm"), "repeats"),
        ("/" + "x" * 400, "long"),
        ("/film.mp4", "not a page"),
        ("/a?replytocom=7", "view"),
        ("/user/login", "form"),
    ],
)
def test_trap_is_recognised(path, reason):
    assert reason in trap_in(HOST + path)


@pytest.mark.parametrize(
    "path", ["/", "/soil.html", "/wiki/Calendar", "/news/2026/05/03/rain", "/a?id=7&page=2", "/history/1984"]
)
def test_ordinary_address_is_no_trap(path):
    assert trap_in(HOST + path) is None


@given(st.text())
def test_any_address_can_be_looked_at(path):
    trap_in(f"{HOST}/{path}")
    shape_of(f"{HOST}/{path}")


def test_addresses_of_one_shape_are_left_alone_once_many_brought_nothing():
    limits = ShapeLimits()
    for number in range(19):
        limits.note(f"{HOST}/page/{number}?q={number}", good=False)
    assert not limits.is_exhausted(f"{HOST}/page/77?q=x")
    limits.note(f"{HOST}/page/19?q=y", good=False)
    assert limits.is_exhausted(f"{HOST}/page/77?q=x")
    assert not limits.is_exhausted(f"{HOST}/page/77")


def test_shape_that_brings_good_pages_is_followed_on():
    limits = ShapeLimits()
    for number in range(100):
        limits.note(f"{HOST}/lesson/{number}", good=number % 4 == 0)
    assert not limits.is_exhausted(f"{HOST}/lesson/100")
