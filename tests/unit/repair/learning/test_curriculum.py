import numpy as np
import pytest

from repair.errors import EvaluationFailed
from repair.features import FEATURES
from repair.learn.examples import Examples
from repair.learn.lessons import LEAST_LINKS, check, lessons
from repair.simulate import Variant, cases
from tests.folders import HOST, a_folder, a_link_record, a_random_folder, lines


def taught(folder, limit=100):
    return {lesson.title: lesson.plan.limit for lesson in lessons(folder, limit)}


def test_train_links_are_broken_in_every_way_in_proportion(tmp_path):
    assert taught(a_folder(tmp_path / "site")) == {
        "kept": 60,
        "moved": 100,
        "renamed": 75,
        "gone": 75,
        "moved copied": 35,
        "renamed copied": 25,
    }
    assert all(lesson.plan.split == "train" for lesson in lessons(tmp_path / "site", 100))


def test_a_part_of_the_pages_teaches_where_enough_links_fall_into_it(tmp_path):
    folder = a_random_folder(tmp_path / "site", 600, 500)
    parts = [lesson.plan for lesson in lessons(folder, 100) if lesson.plan.part]
    assert [(plan.variant, plan.part) for plan in parts] == [(Variant.MOVED, (0, 24))]
    assert len(cases(parts[0])) >= 10


def test_real_moves_teach_where_there_are_any(tmp_path):
    folder = a_folder(tmp_path / "site")
    (folder / "train.jsonl.gz").unlink()
    moved = a_link_record(f"{HOST}/a", f"{HOST}/b", "b", truth=f"{HOST}/c")
    lines(folder, "really_moved_train", [moved])
    assert taught(folder) == {"really-moved": 120}


def test_a_folder_without_train_links_is_refused(tmp_path):
    with pytest.raises(EvaluationFailed, match=r"train\.jsonl\.gz"):
        lessons(tmp_path, 100)


def a_set(links, answered):
    """Two candidates for each link, the first of them the answer of the first links."""
    number = np.repeat(np.arange(links), 2)
    return Examples(
        name="made up",
        rows=np.zeros((2 * links, len(FEATURES))),
        answer=(np.arange(2 * links) % 2 == 0) & (number < answered),
        similarity=np.zeros(2 * links),
        link=number,
    )


def test_too_few_answers_are_not_learnt_from():
    check([a_set(LEAST_LINKS, LEAST_LINKS), a_set(3, 0)])
    for sets in ([], [a_set(100, LEAST_LINKS - 1)], [a_set(100, 0)]):
        with pytest.raises(EvaluationFailed, match=f"at least {LEAST_LINKS} links"):
            check(sets)
