"""Repairs exchanged between schools."""

import json
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.errors import SettingsError
from proxy.misses.schoolsharing import (
    SharedRepairsReport,
    export_repairs,
    import_repairs,
    school_name,
)
from repair.evidence.choices import Choice
from repair.secrets.publicaddresses import is_shareable
from tests.holdings import SITE
from tests.make import A_MOMENT

TODAY = A_MOMENT.date()
LINE = {
    "version": 1,
    "school": "Riverbend",
    "url": f"{SITE}/gone",
    "chosen": f"{SITE}/new",
    "times": 3,
    "refused": 1,
    "last": "2026-05-03",
}


def a_choice(**known):
    return Choice(**{"url": f"{SITE}/gone", "chosen": f"{SITE}/new", "at": A_MOMENT, "times": 3} | known)


def listened(*lines, own=frozenset(), tally=None):
    numbered = ((number, line) for number, line in enumerate(lines, start=1))
    return list(
        import_repairs(numbered, own=own, today=TODAY, tally=tally or SharedRepairsReport(schools=set()))
    )


def written(**known):
    return json.dumps(LINE | known).encode()


def test_exported_repairs_can_be_imported():
    (line,) = export_repairs([a_choice(refused=1)], "Riverbend")
    assert json.loads(line) == LINE
    day = datetime(2026, 5, 3, tzinfo=UTC)
    assert listened(line) == [a_choice(refused=1, school="Riverbend", at=day)]


@pytest.mark.parametrize(
    "address",
    [
        "http://school.test/page?sessionid=1",
        "http://user:secret@school.test/",
        "http://school.test/find?x=1&q=pregnant",
        "http://school.test/find?Search=divorce",
        "http://school.test/?s=divorce",
        "http://school.test/results?search_query=divorce",
        "http://school.test/results?lang=en;searchText=divorce",
        "http://10.0.0.5/marks",
        "http://intranet/marks",
        "http://files.internal/marks",
        "http://[::1]/",
        "http://school.test/" + "a" * 2_000,
        "nonsense",
    ],
)
def test_unshareable_addresses_are_neither_exported_nor_imported(address):
    assert not is_shareable(address)
    assert list(export_repairs([a_choice(url=address), a_choice(chosen=address)], "Riverbend")) == []
    if address != "nonsense":
        tally = SharedRepairsReport(schools=set())
        assert listened(written(url=address), written(chosen=address), tally=tally) == []
        assert (tally.unfit, tally.schools) == (2, set())


def test_own_repairs_are_not_imported():
    tally = SharedRepairsReport(schools=set())
    own = frozenset(("Riverbend", "school-12"))
    lines = [written(), written(school="school-12"), written(school="Hilltop")]
    assert [choice.school for choice in listened(*lines, own=own, tally=tally)] == ["Hilltop"]
    assert (tally.own, tally.schools) == (2, {"Hilltop"})


@pytest.mark.parametrize(
    "line",
    [
        b"{",
        b"[]",
        b"\xff",
        None,
        written(version=2),
        written(school=""),
        written(school="a" * 81),
        written(school="a\nb"),
        written(school=" a"),
        written(url="javascript:alert(1)"),
        written(chosen=5),
        written(times=-1),
        written(times=10**9),
        written(times="3"),
        written(last="2026-05-03T12:00:00Z"),
        written(last="yesterday"),
        written(reader="Ann"),
        json.dumps({key: LINE[key] for key in LINE if key != "last"}).encode(),
    ],
)
def test_a_bad_line_is_named(line):
    with pytest.raises(ValueError, match=r"\Aline 2: ."):
        listened(written(), line)


def test_count_of_one_school_is_limited():
    (choice,) = listened(written(times=999_999, refused=999_999, last=str(TODAY + timedelta(days=400))))
    assert (choice.times, choice.refused, choice.at.date()) == (100, 100, TODAY)


def test_number_of_lines_is_limited():
    line = written()
    lines = ((number, line) for number in range(10**9))
    with pytest.raises(ValueError, match="more than 200000 repairs"):
        for _ in import_repairs(
            lines, own=frozenset(("Riverbend",)), today=TODAY, tally=SharedRepairsReport(schools=set())
        ):
            pass


@given(st.binary(max_size=300))
def test_other_bytes_are_a_value_error(line):
    with pytest.raises(ValueError, match="line 1: "):
        listened(line)


def test_school_name_is_configured_or_generated():
    assert school_name("Riverbend", "school-12") == "Riverbend"
    assert school_name("", "school-12") == "school-12"
    with pytest.raises(SettingsError, match="repair.school"):
        school_name("a\nb", "school-12")


def test_oldest_day_can_be_exported():
    assert listened(written(last=str(date.min)))[0].at.year == 1
