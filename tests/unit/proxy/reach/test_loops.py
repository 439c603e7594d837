"""proxy.reach.loops: marks are known again by who made them, and whatever else is sent is left out."""

import hashlib

import pytest

from proxy.reach.loops import MOST, LoopMarks, read_marks


def marks_of(key):
    return LoopMarks(lambda text: hashlib.blake2b(text.encode(), key=key, digest_size=8).hexdigest())


HERE, ELSEWHERE = marks_of(b"here"), marks_of(b"elsewhere")


def test_a_looping_request_is_recognised_after_any_number_of_proxies():
    first = HERE.add((), "site.test", 80)
    second = ELSEWHERE.add(read_marks([first]), "site.test", 80)
    assert HERE.show_loop(read_marks([second]), "site.test", 80)
    assert ELSEWHERE.show_loop(read_marks([second]), "site.test", 80)
    assert not ELSEWHERE.show_loop(read_marks([first]), "site.test", 80)
    assert not HERE.show_loop((), "site.test", 80)


def test_marks_of_two_sites_cannot_be_compared():
    made = {HERE.add((), "one.test", 80), HERE.add((), "two.test", 80), HERE.add((), "one.test", 443)}
    assert len(made) == 3


def test_too_many_marks_count_as_a_loop():
    marks = read_marks(["0123456789abcdef," * MOST])
    assert HERE.show_loop(marks, "site.test", 80)
    assert not HERE.show_loop(marks[1:], "site.test", 80)


@pytest.mark.parametrize("value", ["", ",", "evil", "0123456789ABCDEF", "0123456789abcdef0", "x" * 100_000])
def test_invalid_marks_are_ignored(value):
    assert read_marks([value, value]) == ()
