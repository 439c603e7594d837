"""repair.soft404.learn and labelled: training weights on labelled pages."""

import json

import pytest

from repair.errors import EvaluationFailed
from repair.soft404.evaluation import measure
from repair.soft404.labelled import labelled_pages
from repair.soft404.learn import learn, main
from repair.soft404.model import load

pytest.importorskip("sklearn")

ERROR = "<title>Page not found</title><h1>404</h1><p>The page of {} does not exist.</p>"
LESSON = "<title>{0}</title><h1>{0}</h1><p>" + "Lava and ash come out of the Earth here. " * 20


@pytest.fixture
def folder(tmp_path):
    rows = []
    for number in range(24):
        label = "error" if number % 2 else "normal"
        name = f"{number}.html"
        (tmp_path / name).write_text(
            (ERROR if number % 2 else LESSON).format(f"owner{number}"), encoding="utf-8"
        )
        split = "test" if number >= 20 else "train"
        rows.append({"file": name, "label": label, "kind": "x", "split": split, "repo": f"o{number}/site"})
    (tmp_path / "labels.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return tmp_path


def test_weights_are_trained_saved_and_loaded(folder, tmp_path):
    out = tmp_path / "weights.json"
    assert main([str(folder), "--out", str(out)]) == 0
    assert load(out).threshold >= 0.5


def test_training_needs_both_labels_and_readable_files(folder, capsys):
    with pytest.raises(EvaluationFailed, match="error pages and normal pages"):
        learn([page for page in labelled_pages(folder, "train") if page.label == "error"])
    (folder / "0.html").unlink()
    assert main([str(folder), "--out", str(folder / "w.json")]) == 1
    assert "0.html" in capsys.readouterr().err


def test_only_the_requested_split_is_read(folder):
    assert [page.file for page in labelled_pages(folder, "test")] == [
        "20.html",
        "21.html",
        "22.html",
        "23.html",
    ]


def test_a_folder_without_labels_is_an_error_with_its_name(tmp_path):
    with pytest.raises(EvaluationFailed, match=r"labels\.jsonl"):
        list(labelled_pages(tmp_path, "test"))


def test_the_evaluation_counts_what_each_detector_found(folder):
    measured = measure(tuple(labelled_pages(folder, "test")))
    ours, title, phrases = measured.scores
    assert (ours.found, ours.errors, ours.false_alarms) == (2, 2, 0)
    assert title.recall == phrases.recall == 1.0
    assert measured.wrong == ()
    assert measured.judge_us > 0
