"""The settings file that `linkmend setup` writes."""

import re
import tomllib
from dataclasses import fields

import pytest

from proxy.settings import ProxySettings, Settings, load
from proxy.setup.settingsfile import changed_settings, settings_text
from proxy.setup.shipped import SETTINGS, shipped_file

TEMPLATE = shipped_file(SETTINGS).read_text(encoding="utf-8")


def loaded(tmp_path, text):
    file = tmp_path / "linkmend.toml"
    file.write_text(text, encoding="utf-8")
    return load(file, environment={})


def test_without_choices_every_setting_keeps_its_default(tmp_path):
    text = settings_text(TEMPLATE, {})
    assert loaded(tmp_path, text) == Settings()
    assert [key for section in tomllib.loads(text).values() for key in section] == []


def test_every_setting_is_there_with_its_comment():
    text = settings_text(TEMPLATE, {"proxy.listen": "127.0.0.1:3128"})
    for section in fields(Settings):
        for key in fields(getattr(Settings(), section.name)):
            assert re.search(rf"^# .+\n#?{key.name} = ", text, re.MULTILINE), f"{section.name}.{key.name}"


def test_what_was_chosen_is_set_and_nothing_else(tmp_path):
    chosen = {
        "proxy.listen": "127.0.0.1:3128",
        "proxy.clients": ("10.1.0.0/16", "::1/128"),
        "proxy.offline": True,
        "proxy.contact": 'Ms "A" Achieng\\room\x7f 12, naïve',
        "cache.max_bytes": 5,
    }
    settings = loaded(tmp_path, settings_text(TEMPLATE, chosen))
    assert changed_settings(settings) == chosen


def test_with_the_comment_signs_removed_it_sets_the_defaults(tmp_path):
    text = re.sub(r'^#(?=[a-z0-9_]+ = |    "|\])', "", settings_text(TEMPLATE, {}), flags=re.MULTILINE)
    assert loaded(tmp_path, text) == Settings()
    assert "listen" in tomllib.loads(text)["proxy"]


def test_an_unknown_setting_is_refused():
    with pytest.raises(KeyError, match=r"proxy\.colour"):
        settings_text(TEMPLATE, {"proxy.colour": "red"})


def test_only_changes_are_reported():
    assert changed_settings(Settings(proxy=ProxySettings(workers=3))) == {"proxy.workers": 3}
