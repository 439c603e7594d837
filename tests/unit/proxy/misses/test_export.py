"""Exports: every miss that is wanted, harmless to open in a spreadsheet."""

import csv
import io
import json

import pytest

from proxy.misses.export import export
from proxy.misses.filters import MissFilter
from proxy.misses.store import MissStore
from proxy.settings import MissesSettings
from repair.model import MissKind
from tests.make import A_MOMENT
from tests.missed import HOUR, a_miss, note


@pytest.fixture
def store(tmp_path):
    opened = MissStore(tmp_path, MissesSettings(retention_days=9_000))
    yield opened
    opened.close()


def rows(store, wanted=None):
    text = "".join(export(store, wanted or MissFilter(), "csv"))
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_misses_come_oldest_first_as_csv_and_as_json(store):
    note(store, a_miss(2, at=A_MOMENT + HOUR), a_miss(1, copy=True))
    assert [(row["id"][-1], row["copy"]) for row in rows(store)] == [("1", "True"), ("2", "False")]
    lines = "".join(export(store, MissFilter(), "jsonl")).splitlines()
    assert [json.loads(line)["copy"] for line in lines] == [True, False]


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n"])
def test_no_cell_is_taken_for_a_formula(store, start):
    hostile = f'{start}HYPERLINK("http://evil.test/","x"),\n2'
    note(store, a_miss(1, query=hostile, source_url=hostile, url=hostile, offered=(hostile,)))
    (row,) = rows(store)
    for name in ("query", "source_url", "url", "offered"):
        assert row[name] == f"'{hostile}"


def test_more_than_a_portion_is_exported_once_each_even_at_the_same_moment(store):
    note(store, *(a_miss(number) for number in range(1_203)))
    assert [row["id"] for row in rows(store)] == [a_miss(number).id for number in range(1_203)]


def test_only_what_is_wanted_is_exported(store):
    note(store, a_miss(1), a_miss(2, kind=MissKind.GONE))
    assert [row["kind"] for row in rows(store, MissFilter(kind=MissKind.GONE))] == ["gone"]


def test_new_misses_do_not_disturb_an_export(store):
    note(store, *(a_miss(number, at=A_MOMENT + number * HOUR) for number in range(600)))
    lines = export(store, MissFilter(), "jsonl")
    first = next(lines)
    note(store, a_miss(9_999, at=A_MOMENT - HOUR))
    store.erase(url="http://nobody.test/")
    assert len((first + "".join(lines)).splitlines()) == 600
