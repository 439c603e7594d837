import logging
import os

import pytest

from repair.errors import ModelMismatch
from repair.ranking import rankmodel
from repair.ranking.schoolmodel import SchoolModel, save
from tests.models import a_good_model


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ranking.json"


def test_without_a_file_the_default_is_in_use(path):
    assert SchoolModel(path).current() is rankmodel.default()


def test_a_new_model_is_used_within_a_minute_and_stays_the_same_object(path, clock):
    own = SchoolModel(path, clock=clock)
    own.current()
    save(path, a_good_model("ours"))
    clock.now += 59
    assert own.current() is rankmodel.default()
    clock.now += 1
    taken = own.current()
    assert taken.about == {"from": "ours"}
    clock.now += 60
    assert own.current() is taken


def test_a_newer_model_replaces_the_older_and_the_default_a_removed_one(path, clock):
    own = SchoolModel(path, clock=clock)
    for about in ("one", "two"):
        save(path, a_good_model(about))
        clock.now += 60
        assert own.current().about == {"from": about}
    path.unlink()
    clock.now += 60
    assert own.current() is rankmodel.default()


@pytest.mark.parametrize("bad", [b"", b"[]", b'{"format": "linkmend-ranking"}', b"\xff\x00"])
def test_a_bad_file_keeps_the_default_and_is_logged_once(path, clock, caplog, bad):
    path.write_bytes(bad)
    own = SchoolModel(path, clock=clock)
    for _ in range(3):
        assert own.current() is rankmodel.default()
        clock.now += 60
    assert len([each for each in caplog.records if each.levelno >= logging.WARNING]) == 1


def test_a_bad_file_keeps_the_last_good_model(path, clock):
    save(path, a_good_model("ours"))
    own = SchoolModel(path, clock=clock)
    before = own.current()
    path.write_bytes(b"{}")
    clock.now += 60
    assert own.current() is before


def test_an_own_model_serves_where_the_default_does_not_fit(path, clock, monkeypatch):
    tried = []

    def refused():
        tried.append(1)
        raise ModelMismatch("made for other features")

    monkeypatch.setattr(rankmodel, "default", refused)
    own = SchoolModel(path, clock=clock)
    for _ in range(2):
        with pytest.raises(ModelMismatch, match="other features"):
            own.current()
    assert len(tried) == 1
    save(path, a_good_model("ours"))
    clock.now += 60
    assert own.current().about == {"from": "ours"}


def test_save_leaves_no_other_files_and_keeps_the_old_model_on_failure(path, monkeypatch):
    save(path, b"old")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        save(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(path.parent.iterdir()) == [path]
