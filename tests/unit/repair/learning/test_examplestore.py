from dataclasses import replace

import numpy as np
import pytest

from repair.learning import examplestore
from repair.learning.examples import Examples, ExampleSets
from repair.learning.examplestore import kept_examples
from repair.simulation.pseudobroken import BreakagePlan, Variant
from tests.folders import a_folder


@pytest.fixture
def plan(tmp_path):
    return BreakagePlan(folder=a_folder(tmp_path / "site"), variant=Variant.MOVED, split="train", limit=3)


def same(one: ExampleSets, other: ExampleSets) -> bool:
    return all(
        np.array_equal(getattr(getattr(one, kind), name), getattr(getattr(other, kind), name))
        for kind in ("found", "gone", "unrelated")
        for name in Examples.__slots__
    )


def test_examples_are_computed_once(plan, tmp_path, monkeypatch):
    first = kept_examples(plan, tmp_path / "cache")
    monkeypatch.setattr(examplestore, "gather_examples", lambda *_, **__: pytest.fail("computed again"))
    again = kept_examples(plan, tmp_path / "cache")
    assert same(first, again)
    assert again.found.rows.dtype == first.found.rows.dtype
    assert first.name == again.name == "site moved"


@pytest.mark.parametrize("changed", [{"limit": 2}, {"variant": Variant.KEPT}])
def test_another_plan_has_other_examples(plan, tmp_path, changed):
    first = kept_examples(plan, tmp_path / "cache")
    assert not same(first, kept_examples(replace(plan, **changed), tmp_path / "cache"))


def test_other_code_computes_them_anew(plan, tmp_path, monkeypatch):
    kept_examples(plan, tmp_path / "cache")
    monkeypatch.setattr(examplestore, "_code_digest", lambda: "another")
    kept_examples(plan, tmp_path / "cache")
    assert len(list((tmp_path / "cache" / "examples").iterdir())) == 2


def test_only_code_that_examples_come_from_counts():
    used = {path.name: path for path in examplestore._used_modules()}
    assert {"words.py", "candidates.py", "numbers.py", "pseudobroken.py", "fulltext.py"} <= set(used)
    assert not {"detector.py", "train.py"} & set(used)


def test_a_file_that_was_cut_off_is_computed_anew(plan, tmp_path):
    first = kept_examples(plan, tmp_path / "cache")
    (path,) = (tmp_path / "cache" / "examples").iterdir()
    path.write_bytes(path.read_bytes()[:500])
    assert same(first, kept_examples(plan, tmp_path / "cache"))
