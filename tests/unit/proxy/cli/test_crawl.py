"""`linkmend crawl`, as far as it goes without a network."""

import sys

import pytest
from typer.testing import CliRunner

from proxy.errors import LinkmendError
from proxy.main import app


def crawl(*args, data):
    return CliRunner().invoke(app, ["crawl", *args, "--data", str(data)])


@pytest.fixture(autouse=True)
def priority_as_it_is(monkeypatch):
    monkeypatch.setattr("os.nice", lambda by: by)


def test_unknown_topic_is_named(tmp_path):
    result = crawl("Soil", data=tmp_path)
    assert isinstance(result.exception, LinkmendError)
    assert "no such topic: 'Soil'" in str(result.exception)


def test_topic_without_seeds_and_saved_pages_cannot_be_crawled(tmp_path):
    CliRunner().invoke(app, ["topics", "add", "Soil", "--data", str(tmp_path)])
    result = crawl("Soil", data=tmp_path)
    assert isinstance(result.exception, LinkmendError)
    assert "nothing to begin with" in str(result.exception)


def test_topic_with_nothing_to_begin_with_leaves_the_others_alone(tmp_path):
    CliRunner().invoke(app, ["topics", "add", "Soil", "--data", str(tmp_path)])
    CliRunner().invoke(
        app, ["topics", "add", "Farms", "--seed", "https://farm.example/", "--data", str(tmp_path)]
    )
    result = crawl("Soil", "Farms", "--dry-run", data=tmp_path)
    assert result.exit_code == 0
    assert "Soil: 0 pages; links: none; nothing to begin with" in result.output
    assert "https://farm.example/" in result.output


def test_growing_says_so_when_nobody_missed_anything(tmp_path):
    result = CliRunner().invoke(app, ["grow", "--dry-run", "--data", str(tmp_path)])
    assert result.exit_code == 0
    assert "nothing to fetch" in result.output


def test_without_scikit_learn_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "repair.crawling.classifier", None)
    result = crawl("Soil", data=tmp_path)
    assert isinstance(result.exception, LinkmendError)
    assert "linkmend[learn]" in str(result.exception)


def test_usage_error_is_exit_2(tmp_path):
    assert crawl("Soil", "--pages", "0", data=tmp_path).exit_code == 2
