import zipfile

import pytest

from repair.parse.formats import zipparts
from repair.parse.formats.extraction import Unreadable
from repair.parse.formats.zipparts import ZipParts
from tests.files import a_zip


def test_a_part_is_found_by_its_name():
    parts = ZipParts(a_zip({"a": "one", "b": "two"}))
    assert (parts.find("a"), parts.find("missing")) == (b"one", None)
    with pytest.raises(Unreadable, match="'missing'"):
        parts.read("missing")


def test_one_part_may_not_be_too_large(monkeypatch):
    monkeypatch.setattr(zipparts, "MAX_PART_BYTES", 1_000)
    parts = ZipParts(a_zip({"good": b"x" * 1_000, "large": b"x" * 1_001}))
    assert len(parts.find("good")) == 1_000
    assert parts.find("large") is None


def test_nor_all_parts_together(monkeypatch):
    monkeypatch.setattr(zipparts, "MAX_TOTAL_BYTES", 2_500)
    parts = ZipParts(a_zip(dict.fromkeys("abc", b"x" * 1000)))
    assert [parts.find(name) is not None for name in "abc"] == [True, True, False]


def test_too_many_entries_are_refused(monkeypatch):
    monkeypatch.setattr(zipparts, "MAX_ENTRIES", 3)
    assert ZipParts(a_zip(dict.fromkeys("abc", ""))).find("a") == b""
    with pytest.raises(Unreadable, match="more than 3 files"):
        ZipParts(a_zip(dict.fromkeys("abcd", "")))


def test_other_compressions_and_damage_cost_the_part_only():
    assert ZipParts(a_zip({"a": "x" * 99}, compression=zipfile.ZIP_LZMA)).find("a") is None
    damaged = a_zip({"a": "one", "b": "two"}, compression=zipfile.ZIP_STORED).replace(b"one", b"eno")
    assert (ZipParts(damaged).find("a"), ZipParts(damaged).find("b")) == (None, b"two")
