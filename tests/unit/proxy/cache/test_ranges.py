import pytest
from hypothesis import given

from proxy.cache.ranges import ByteRange, wanted_part
from tests.caching import FIELD_TEXT, a_request, a_stored, at

NOWHERE = ByteRange(start=0, stop=0)


def part(text, *headers, method="GET", status=200, size=11, stored=()):
    request = a_request(("Range", text), *headers, method=method)
    return wanted_part(request, a_stored(*stored, status=status), size)


@pytest.mark.parametrize(
    ("text", "start", "stop"),
    [
        ("bytes=0-1", 0, 2),
        ("bytes=1-", 1, 11),
        ("bytes=-1", 10, 11),
        ("bytes=-99", 0, 11),
        ("bytes=5-99", 5, 11),
        ("bytes=0-0", 0, 1),
        ("Bytes = 0 - 1", 0, 2),
    ],
)
def test_one_range_is_cut_out(text, start, stop):
    assert part(text) == ByteRange(start=start, stop=stop)


@pytest.mark.parametrize("text", ["bytes=11-", "bytes=99-100", "bytes=-0"])
def test_a_range_outside_is_nowhere(text):
    assert part(text) == NOWHERE


def test_an_empty_body_has_no_ranges():
    assert part("bytes=-5", size=0) == NOWHERE
    assert part("bytes=0-", size=0) == NOWHERE


@pytest.mark.parametrize(
    "text",
    [
        "bytes=0-1,3-4",
        "bytes=2-1",
        "bytes=-",
        "bytes=",
        "items=0-1",
        "0-1",
        "bytes=a-b",
        f"bytes={'9' * 99}-",
    ],
)
def test_several_ranges_or_none_give_the_whole(text):
    assert part(text) is None


def test_a_second_range_line_gives_the_whole():
    assert part("bytes=0-1", ("Range", "bytes=3-4")) is None


def test_only_a_get_of_a_200_has_parts():
    assert part("bytes=0-1", method="HEAD") is None
    assert part("bytes=0-1", status=404) is None


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ('"a"', True),
        ('"b"', False),
        ('W/"a"', False),
        (at(-3000), True),
        (at(-2999), False),
        ("", False),
    ],
)
def test_if_range_wants_the_very_same_bytes(condition, holds):
    stored = (("ETag", '"a"'), ("Last-Modified", at(-3000)))
    assert (part("bytes=0-1", ("If-Range", condition), stored=stored) is not None) is holds


def test_a_weak_tag_is_not_good_enough_for_parts():
    assert part("bytes=0-1", ("If-Range", 'W/"a"'), stored=(("ETag", 'W/"a"'),)) is None


@given(FIELD_TEXT)
def test_a_part_always_lies_within_the_body(text):
    for field in (text, "bytes=" + text):
        found = part(field)
        assert found is None or 0 <= found.start <= found.stop <= 11
