import json

import pytest
from typer.testing import CliRunner

from proxy.main import app
from tests.folders import HOST, a_folder, lines


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
    assert {"offered", "served@1", "false_offers", "calibration_error"} <= set(told)
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert [line["id"] for line in lines] == ["test0", "test1", "test2", "test3"]
    assert all(0 < len(line["ranked"]) <= 100 for line in lines)


def test_evaluate_may_use_older_versions_of_lost_pages(folder, tmp_path):
    asked = ("evaluate", folder, "--limit", "2", "--cache", tmp_path / "c")
    told = json.loads(run(*asked, "--copies", "--ablation", "--json").stdout)
    assert told["copies"] is True
    assert "copy" in told["ablation"]
    assert json.loads(run(*asked, "--json").stdout)["copies"] is False
    assert "older versions known" in run(*asked, "--copies").stdout


def test_evaluate_shows_a_table_and_keeps_to_the_limit(folder, tmp_path):
    result = run("evaluate", folder, "--variant", "gone", "--limit", "2", "--cache", tmp_path / "c")
    assert result.exit_code == 0, result.output
    assert "2 links" in result.stdout


def test_evaluate_reports_optional_tables(folder, tmp_path):
    wanted = ("--models", "all", "--confusion", "--ablation")
    result = run("evaluate", folder, "--limit", "2", "--cache", tmp_path / "c", "--json", *wanted)
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert {"combined", "anchor/bm25", "decision procedure"} <= set(told["models"])
    assert told["repairable"]["n"] == 4
    assert set(told["ablation"]["anchor"]) == {"R@1", "R@10", "MRR"}
    assert told["calibration"]["expected_error"] >= 0


def test_every_report_is_shown_as_a_table(folder, tmp_path):
    result = run("evaluate", folder, "--limit", "2", "--cache", tmp_path / "c", "--confusion", "--ablation")
    assert result.exit_code == 0, result.output
    for title in (
        "site moved, 2 links",
        "What readers get",
        "served@1",
        "expected error",
        "Repairable or not",
        "Without each kind of evidence",
    ):
        assert title in result.stdout
    assert "url/lm" in result.stdout


def test_what_needs_answers_is_refused_where_pages_are_gone(folder, tmp_path):
    result = run("evaluate", folder, "--variant", "gone", "--ablation", "--cache", tmp_path / "c")
    assert result.exit_code == 2


def test_evaluate_measures_site_moves(tmp_path):
    names = ["rain", "snow", "hail", "frost", "cloud"]
    for part in ("old", "new"):
        (tmp_path / part).mkdir()
        pages = [{"url": f"{HOST}/{part}/{name}", "title": name, "text": f"about {name}"} for name in names]
        lines(tmp_path / part, "pages", pages)
    links = [
        {"source_url": f"{HOST}/x", "target_url": f"{HOST}/old/{name}", "truth": f"{HOST}/new/{name}"}
        for name in names
    ]
    lines(tmp_path / "new", "really_moved", links)
    asked = ("evaluate", tmp_path / "new", "--moves", tmp_path / "old")
    told = json.loads(run(*asked, "--json").stdout)
    assert (told["asked"], told["precision"], told["recall"]) == (5, 1.0, 1.0)
    assert "precision 1.000" in run(*asked).stdout


def test_bad_line_of_moves_is_reported_by_file_and_line(tmp_path):
    lines(tmp_path, "pages", [{"url": f"{HOST}/a", "title": "A", "text": "a"}, {"url": f"{HOST}/b"}])
    result = run("evaluate", tmp_path, "--moves", tmp_path)
    assert "pages.jsonl.gz: line 2: expected a string 'title'" in str(result.exception)


def test_folder_without_a_collection_is_one_error_line(tmp_path):
    result = run("evaluate", tmp_path, "--cache", tmp_path / "c")
    assert result.exit_code != 0
    assert "expected" in str(result.exception)


@pytest.mark.slow
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
