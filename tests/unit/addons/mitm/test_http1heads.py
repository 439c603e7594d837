"""addons.mitm.http1heads: how header sections are read."""

import pytest

from addons.mitm.http1heads import is_cut_head, read_headers, read_request_head, read_response_head


def fields_of(*lines):
    return read_response_head([b"HTTP/1.1 200 OK", *lines]).headers.fields


def test_only_spaces_and_tabs_are_no_part_of_a_value():
    assert read_headers([b"A: \t b \x0b\t"]).fields == ((b"A", b"b \x0b"),)
    assert fields_of(b"A: \t\x0cb\x1f ") == ((b"A", b"\x0cb\x1f"),)


@pytest.mark.parametrize("line", [b"A: \x01", b"A: b\x7f", b"A: b\x00", b"A: b\rc"])
def test_a_control_character_in_a_request_is_an_error(line):
    with pytest.raises(ValueError, match="control character"):
        read_request_head([b"GET / HTTP/1.1", line])


def test_lines_of_an_origin_that_are_no_fields_are_left_out():
    assert fields_of(b"nothing", b"a b: c", b": d", b" e: f", b"X-Foo : bar") == ((b"X-Foo", b"bar"),)


@pytest.mark.parametrize(
    ("values", "kept"),
    [
        ([b"5", b"5"], [b"5"]),
        ([b"5, 5 ,5"], [b"5"]),
        ([b"5", b"6"], [b"5", b"6"]),
        ([b"5,"], [b"5,"]),
        ([b"05, 05"], [b"05, 05"]),
    ],
)
def test_a_length_that_is_the_same_each_time_stands_once(values, kept):
    fields = fields_of(*(b"Content-Length: " + value for value in values))
    assert [value for _, value in fields] == kept


def test_a_value_of_nothing_but_space_takes_no_time():
    assert fields_of(b"A: " + b" \t" * 100_000 + b"b" + b" " * 100_000) == ((b"A", b"b"),)


@pytest.mark.parametrize(
    ("data", "is_cut"),
    [
        (b"HTTP/1.1 200 OK\r\nA: b\r\n", True),
        (b"HTTP/1.1 200 OK\r\nA: b", False),
        (b"HTTP/1.1 200 OK\r\n\r\n", False),
        (b"garbage\r\n", False),
    ],
)
def test_a_head_that_ends_with_a_whole_line_can_be_read(data, is_cut):
    assert is_cut_head(data) is is_cut
