import json

import pytest
from typer.testing import CliRunner

from proxy.main import app
from tests.folders import a_folder


@pytest.fixture
def folder(tmp_path):
    return a_folder(tmp_path / "site")


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def test_evaluate_prints_the_contract_and_writes_rankings(folder, tmp_path):
    out = tmp_path / "rankings.jsonl"
    result = run(
        "evaluate", folder, "--variant", "kept", "--cache", tmp_path / "c", "--json", "--rankings", out
    )
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert (told["collection"], told["variant"], told["n"]) == ("site", "kept", 4)
    assert told["models"]["combined"]["R@1"] == told["R@1"]
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert [line["id"] for line in lines] == ["test0", "test1", "test2", "test3"]
    assert all(0 < len(line["ranked"]) <= 100 for line in lines)


def test_evaluate_shows_a_table_and_keeps_to_the_limit(folder, tmp_path):
    result = run("evaluate", folder, "--variant", "gone", "--limit", "2", "--cache", tmp_path / "c")
    assert result.exit_code == 0, result.output
    assert "2 links" in result.stdout


def test_a_folder_that_is_no_collection_is_told_in_one_line(tmp_path):
    result = run("evaluate", tmp_path, "--cache", tmp_path / "c")
    assert result.exit_code != 0
    assert "expected" in str(result.exception)


def test_train_saves_a_model_that_evaluate_takes(folder, tmp_path):
    pytest.importorskip("sklearn")
    model = tmp_path / "model.json"
    result = run("train", folder, "--out", model, "--cache", tmp_path / "c")
    assert result.exit_code == 0, result.output
    result = run(
        "evaluate", folder, "--variant", "moved", "--model", model, "--cache", tmp_path / "c", "--json"
    )
    assert result.exit_code == 0, result.output


def test_train_wants_links_to_learn_from(tmp_path):
    result = run("train", tmp_path, "--cache", tmp_path / "c")
    assert "train.jsonl.gz" in str(result.exception)
