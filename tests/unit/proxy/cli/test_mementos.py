"""`linkmend mementos`, without queries to archives."""

import json

import pytest
from typer.testing import CliRunner

from proxy.errors import LinkmendError, SettingsError
from proxy.main import app
from proxy.settings import load


def mementos(tmp_path, *arguments):
    return CliRunner().invoke(app, ["mementos", "--data", str(tmp_path), "--offline", *arguments])


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("ftp://lost.test/", "expected an http or https address"),
        ("http://lost.test/?token=1", "does not send it to archives"),
    ],
)
def test_addresses_that_cannot_or_must_not_be_asked_for_are_refused(tmp_path, url, reason):
    done = mementos(tmp_path, url)
    assert isinstance(done.exception, LinkmendError)
    assert reason in str(done.exception)


def test_invalid_date_is_a_usage_error(tmp_path):
    assert mementos(tmp_path, "http://lost.test/", "--near", "yesterday").exit_code == 2


def test_offline_with_nothing_remembered_there_is_nothing(tmp_path):
    assert "0 mementos" in mementos(tmp_path, "http://lost.test/").stdout
    told = json.loads(mementos(tmp_path, "http://lost.test/", "--json", "--near", "2015-06-30").stdout)
    assert told == {"url": "http://lost.test/", "archives": [], "mementos": [], "best": None}


def test_a_wrong_line_is_refused_with_its_key():
    with pytest.raises(SettingsError, match="archives.list: school: no query template"):
        load(environment={"LINKMEND_ARCHIVES_LIST": '["school"]'})
