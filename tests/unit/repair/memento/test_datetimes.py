from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repair.memento.datetimes import any_date, as_http_date, as_timestamp, http_date, iso_date, timestamp

A_MOMENT = datetime(2006, 6, 20, 18, 2, 59, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "Tue, 20 Jun 2006 18:02:59 GMT",
        '"Tue, 20 Jun 2006 18:02:59 GMT"',
        "Tue, 20 Jun 2006 20:02:59 +0200",
        "20060620180259",
        "2006-06-20T18:02:59Z",
        "2006-06-20T20:02:59+02:00",
        "2006-06-20 18:02:59",
    ],
)
def test_times_are_parsed_in_every_form(text):
    assert any_date(text) == A_MOMENT


@pytest.mark.parametrize(
    "text",
    ["", "yesterday", "99999999999999", "200613", "20060620180259999", "Tue, 99 Jun 2006", "1" * 10_000],
)
def test_other_text_gives_none(text):
    assert any_date(text) is None


def test_a_timestamp_may_be_shortened():
    assert timestamp("2006") == datetime(2006, 1, 1, tzinfo=UTC)
    assert timestamp("200606") == datetime(2006, 6, 1, tzinfo=UTC)


def test_times_are_formatted_for_archives():
    there = A_MOMENT.astimezone(timezone(timedelta(hours=2)))
    assert as_timestamp(there) == "20060620180259"
    assert as_http_date(there) == "Tue, 20 Jun 2006 18:02:59 GMT"


@given(st.text(max_size=80))
def test_any_text_is_parsed_without_an_exception(text):
    for read in (http_date, timestamp, iso_date, any_date):
        found = read(text)
        assert found is None or found.utcoffset() == timedelta(0)


@given(st.integers(-30_000_000_000, 200_000_000_000))
def test_formatting_and_parsing_round_trip(seconds):
    second = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    assert timestamp(as_timestamp(second)) == http_date(as_http_date(second)) == second
