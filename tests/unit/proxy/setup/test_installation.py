"""The steps of `linkmend setup`."""

import configparser
from pathlib import Path

import pytest

from proxy.errors import SettingsError
from proxy.settings import load
from proxy.setup.installation import (
    is_done,
    make_certificate,
    note_done,
    read_settings,
    service_text,
    write_settings,
)


def test_a_settings_file_that_was_there_is_kept(tmp_path):
    file = tmp_path / "etc" / "linkmend.toml"
    write_settings(file, {"proxy.workers": 2})
    first = file.read_text(encoding="utf-8")
    write_settings(file, {"proxy.workers": 3})
    assert (tmp_path / "etc" / "linkmend.toml.before-setup").read_text(encoding="utf-8") == first
    assert load(file, environment={}).proxy.workers == 3
    assert read_settings(file) == {"proxy.workers": 3}


def test_a_wrong_value_is_refused_before_anything_is_written(tmp_path):
    file = tmp_path / "linkmend.toml"
    with pytest.raises(SettingsError, match="HOST:PORT"):
        write_settings(file, {"proxy.listen": "everywhere"})
    assert not file.exists()


def test_no_file_sets_nothing(tmp_path):
    assert read_settings(tmp_path / "linkmend.toml") == {}


def test_set_up_is_done_once_somebody_has_made_choices(tmp_path):
    config = tmp_path / "linkmend.toml"
    assert not is_done(tmp_path / "data", None)
    write_settings(config, {})
    assert not is_done(tmp_path / "data", config)
    write_settings(config, {"proxy.workers": 2})
    assert is_done(tmp_path / "data", config)
    config.write_text("proxy = nonsense")
    assert is_done(tmp_path / "data", config)
    note_done(tmp_path / "data")
    assert is_done(tmp_path / "data", None)


def test_the_certificate_is_made_once(tmp_path):
    file, fingerprint = make_certificate(tmp_path)
    assert file.read_text(encoding="ascii").startswith("-----BEGIN CERTIFICATE-----")
    assert len(fingerprint) == 95
    assert make_certificate(tmp_path) == (file, fingerprint)


def unit_of(*places):
    unit = configparser.RawConfigParser(strict=False, interpolation=None)
    unit.optionxform = str
    unit.read_string(service_text(*map(Path, places)))
    return unit["Service"]


def test_the_service_starts_the_program_that_was_set_up():
    usual = unit_of("/opt/linkmend/bin/linkmend", "/etc/linkmend/linkmend.toml", "/var/lib/linkmend")
    assert usual["ExecStart"] == "/opt/linkmend/bin/linkmend serve"
    other = unit_of("/srv/lm/bin/linkmend", "/srv/lm/own.toml", "/srv/lm/data")
    assert other["ExecStart"] == "/srv/lm/bin/linkmend serve --config /srv/lm/own.toml --data /srv/lm/data"
    assert other["ReadWritePaths"].split() == ["/srv/lm/data", "-/etc/linkmend/rules.d"]
