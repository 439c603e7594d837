import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.headers.fields import (
    LARGEST_DELTA_S,
    content_length,
    date_field,
    has,
    has_any,
    has_body,
    members,
    parse_date,
    retry_after,
    seconds,
    split_list,
    write_date,
)
from proxy.messages import HeaderFields, values
from tests.caching import FIELD_TEXT, HEADERS, NOW

IN_2050 = 2_544_400_878.0


@pytest.mark.parametrize(
    "text",
    [
        "Thu, 18 Aug 2050 02:01:18 GMT",
        "THU, 18 Aug 2050 02:01:18 GMT",
        "Thu, 18 AUG 2050 02:01:18 GMT",
        "Thu, 18 Aug 2050 02:01:18 gMT",
        "Thursday, 18-Aug-50 02:01:18 GMT",
        "Thu Aug 18 02:01:18 2050",
        " Thu, 18 Aug 2050 02:01:18 GMT ",
    ],
)
def test_the_three_forms_of_a_date_are_read(text):
    assert parse_date(text, now=NOW) == IN_2050


def test_a_day_of_one_digit_in_the_form_of_asctime_is_read():
    assert parse_date("Mon Aug  8 02:01:18 2050", now=NOW) == IN_2050 - 10 * 86_400


@pytest.mark.parametrize(
    "text",
    [
        "0",
        "-1",
        "",
        "foo",
        "Thu, 18 Aug 2050 02:01:18 UTC",
        "Thu, 18 Aug 2050 02:01:18 AEST",
        "Thu, 18 Aug 2050 02:01:18",
        "Thu, 18 Aug 50 02:01:18 GMT",
        "Thu 18 Aug 2050 02:01:18 GMT",
        "Thu, 18  Aug  2050 02:01:18 GMT",
        "Thu, 18-Aug-2050 02:01:18 GMT",
        "Thu, 18 Aug 2050 02.01.18 GMT",
        "Thu, 18 Aug 2050 2:01:18 GMT",
        "Thu, 32 Aug 2050 02:01:18 GMT",
        "Thu, 18 Aug 0000 02:01:18 GMT",
        "Thu, ٠٨ Aug 2050 02:01:18 GMT",
    ],
)
def test_texts_that_only_look_like_dates_are_refused(text):
    assert parse_date(text, now=NOW) is None


def test_a_two_digit_year_far_ahead_lies_in_the_past():
    assert (
        write_date(parse_date("Sunday, 06-Nov-94 08:49:37 GMT", now=NOW)) == "Sun, 06 Nov 1994 08:49:37 GMT"
    )


def test_a_date_given_twice_with_two_values_is_none():
    one, other = "Thu, 18 Aug 2050 02:01:18 GMT", "Thu, 18 Aug 2050 02:01:19 GMT"
    assert date_field((("Expires", one), ("expires", other)), "expires", now=NOW) is None
    assert date_field((("Expires", one), ("expires", one)), "expires", now=NOW) == IN_2050


@given(st.integers(min_value=0, max_value=253_402_300_799))
def test_a_date_that_we_write_is_read_back(instant):
    assert parse_date(write_date(instant), now=NOW) == instant


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", 0),
        ("3600", 3600),
        ("003600", 3600),
        ("2147483647", 2_147_483_647),
        ("2147483649", LARGEST_DELTA_S),
        ("9" * 5000, LARGEST_DELTA_S),
        ("0" * 5000 + "1", 1),
        ("-1", None),
        ("3600.0", None),
        ("'3600'", None),
        ("٣", None),
        ("", None),
    ],
)
def test_seconds_are_digits_and_nothing_else(text, expected):
    assert seconds(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a, b", ["a", "b"]),
        (" ,a,,\tb ,", ["a", "b"]),
        ('x="a, b", c', ['x="a, b"', "c"]),
        ('x="a\\", b", c', ['x="a\\", b"', "c"]),
        ('x="never closed, c', ['x="never closed, c']),
        ("", []),
    ],
)
def test_a_list_is_split_at_commas_outside_quotes(text, expected):
    assert split_list(text) == expected


def test_a_list_may_go_over_several_lines():
    assert members((("Vary", "a, b"), ("Other", "x"), ("vary", "c")), "Vary") == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [(["5"], 5), (["5", "5"], 5), (["5", "6"], None), (["-5"], None), (["9" * 30], None), ([], None)],
)
def test_a_length_is_believed_only_when_it_is_clear(lines, expected):
    assert content_length(tuple(("Content-Length", line) for line in lines)) == expected


@given(FIELD_TEXT, HEADERS)
def test_nothing_raises_whatever_the_text(text, headers):
    seconds(text)
    split_list(text)
    parse_date(text, now=NOW)
    content_length(headers)


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ((), False),
        ((("Content-Length", " 0"),), False),
        ((("content-length", "1"),), True),
        ((("Content-Length", "0"), ("Content-Length", "5")), True),
        ((("Content-Length", "nonsense"),), True),
        ((("TRANSFER-ENCODING", "chunked"),), True),
    ],
)
def test_a_request_has_a_body_when_it_says_so_in_any_way(headers, expected):
    assert has_body(headers) is expected


NAMED = st.lists(st.tuples(st.sampled_from(["Host", "host", "X-A", "Vary"]), st.text(max_size=3)), max_size=6)


@given(lines=NAMED, name=st.sampled_from(["host", "x-a", "vary", "date"]))
def test_sorted_fields_say_the_same_as_a_plain_list(lines, name):
    plain, fields = tuple(lines), HeaderFields(lines)
    assert fields == plain
    assert values(fields, name) == values(plain, name)
    assert has(fields, name) is has(plain, name)
    assert has_any(fields, frozenset({name, "age"})) is has_any(plain, frozenset({name, "age"}))


def test_changing_a_result_does_not_change_the_next():
    fields = HeaderFields([("Vary", "a")])
    values(fields, "vary").append("b")
    assert values(fields, "vary") == ["a"]


@given(st.text(alphabet='",\\ a=', max_size=40))
def test_splitting_loses_nothing_but_the_commas_between(text):
    """As read one character after the other."""
    parts, part, quoted, escaped = [], "", False, False
    for character in text:
        if character == "," and not quoted:
            parts.append(part)
            part = ""
            continue
        part += character
        if escaped:
            escaped = False
        elif character == "\\" and quoted:
            escaped = True
        elif character == '"':
            quoted = not quoted
    parts.append(part)
    assert split_list(text) == [trimmed for found in parts if (trimmed := found.strip(" \t"))]


@pytest.mark.parametrize(
    ("text", "wait"),
    [
        ("120", 120),
        ("Thu, 01 Jan 1970 00:01:40 GMT", 40),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
        ("soon", None),
        ("", None),
    ],
)
def test_retry_after_is_seconds_or_a_date(text, wait):
    assert retry_after((("Retry-After", text),), 60.0) == wait
