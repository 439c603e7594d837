"""Training the papers' models."""

import json

import pytest

pytest.importorskip("sklearn")

from repair.evaluation.papers import formula, termclassifier
from repair.evaluation.papers.learn import main
from repair.evaluation.papers.singlesources import FEATURES
from tests.folders import a_folder, a_random_folder


def test_all_three_models_are_trained_and_can_be_loaded(tmp_path, capsys):
    folder = a_random_folder(tmp_path / "site", 60, 20)
    main([str(folder), "--cache", str(tmp_path / "cache"), "--out", str(tmp_path), "--generations", "2"])
    termclassifier.loads((tmp_path / "terms.json").read_text())
    assert formula.loads((tmp_path / "sources.json").read_bytes(), FEATURES) is not None
    assert json.loads((tmp_path / "features.json").read_text())["about"]["links"] == "site moved"
    assert "R@1" in capsys.readouterr().out


def test_the_term_model_is_kept_when_all_terms_are_of_one_class(tmp_path, capsys):
    folder = a_folder(tmp_path / "site")
    main([str(folder), "--cache", str(tmp_path / "cache"), "--out", str(tmp_path), "--generations", "1"])
    assert not (tmp_path / "terms.json").exists()
    assert "stays as it is" in capsys.readouterr().out
