import csv
import io

import pytest

from proxy.misses.record import COLUMNS, MissRecord, cells, csv_line, event_of, new_miss_id, site_of
from repair.model import MissKind
from tests.make import A_MOMENT


def a_miss(**known):
    return MissRecord(
        **{"id": "a" * 22, "at": A_MOMENT, "url": "http://a.test/", "kind": MissKind.GONE, **known}
    )


def test_ids_cannot_be_guessed():
    made = {new_miss_id() for _ in range(1_000)}
    assert len(made) == 1_000
    assert min(len(each) for each in made) >= 22


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_a_spreadsheet_finds_no_formula(start):
    record = a_miss(url=start + "cmd|' /C calc'!A0", query=start + "1", rule=start)
    (row,) = csv.reader(io.StringIO(csv_line(cells(event_of(record))), newline=""))
    values = dict(zip(COLUMNS, row, strict=True))
    assert all(values[name].startswith("'") for name in ("url", "query", "rule"))


def test_commas_quotes_and_lines_stay_in_their_cell():
    record = a_miss(query='a,"b"\nc')
    (row,) = csv.reader(io.StringIO(csv_line(cells(event_of(record))), newline=""))
    assert dict(zip(COLUMNS, row, strict=True))["query"] == 'a,"b"\nc'


@pytest.mark.parametrize(
    ("url", "site"),
    [
        ("http://www.school.test:8080/x", "school.test"),
        ("https://Library.School.test/", "library.school.test"),
        ("http://[", ""),
        ("nothing", ""),
    ],
)
def test_a_site_is_a_host_without_www(url, site):
    assert site_of(url) == site


def test_an_event_is_bounded():
    event = event_of(a_miss(url="http://a.test/" + "x" * 100_000, offered=("http://b.test/",) * 1_000))
    assert len(event["url"]) == 4_000
    assert len(event["offered"]) == 50
