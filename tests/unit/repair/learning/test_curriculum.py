import numpy as np
import pytest

from repair.errors import EvaluationFailed
from repair.learning.curriculum import LEAST_LINKS, check, lessons, sites
from repair.learning.examples import Examples, ExampleSets
from repair.ranking.features import FEATURES
from repair.simulation.pseudobroken import Variant, cases
from tests.folders import HOST, a_folder, a_link_record, a_random_folder, lines


def lesson_titles(folder, limit=100):
    return {lesson.title: lesson.plan.limit for lesson in lessons(folder, limit)}


def test_train_links_are_broken_in_every_variant_by_its_share(tmp_path):
    assert lesson_titles(a_folder(tmp_path / "site")) == {
        "kept": 50,
        "moved": 100,
        "readdressed": 75,
        "gone": 40,
        "moved copied": 25,
        "readdressed copied": 25,
    }
    assert all(lesson.plan.split == "train" for lesson in lessons(tmp_path / "site", 100))


def test_a_part_of_the_pages_is_a_lesson_if_it_has_enough_links(tmp_path):
    folder = a_random_folder(tmp_path / "site", 600, 500)
    parts = [lesson.plan for lesson in lessons(folder, 100) if lesson.plan.part]
    assert [(plan.variant, plan.part) for plan in parts] == [
        (Variant.MOVED, (0, 24)),
        (Variant.RENAMED, (1, 4)),
    ]
    assert len(cases(parts[0])) >= 10


def test_really_moved_links_are_a_lesson_where_a_folder_has_them(tmp_path):
    folder = a_folder(tmp_path / "site")
    (folder / "train.jsonl.gz").unlink()
    moved = a_link_record(f"{HOST}/a", f"{HOST}/b", "b", truth=f"{HOST}/c")
    lines(folder, "really_moved_train", [moved])
    assert lesson_titles(folder) == {"really-moved": 300}


def test_a_folder_without_train_links_is_refused(tmp_path):
    with pytest.raises(EvaluationFailed, match=r"train\.jsonl\.gz"):
        lessons(tmp_path, 100)


def a_set(links, answered):
    """Two candidates for each link; for the first links, the first candidate is the answer."""
    number = np.repeat(np.arange(links), 2)
    found = Examples(
        name="made up",
        rows=np.zeros((2 * links, len(FEATURES))),
        answer=(np.arange(2 * links) % 2 == 0) & (number < answered),
        similarity=np.zeros(2 * links),
        link=number,
    )
    return ExampleSets(found=found, gone=found, unrelated=found)


def test_too_few_links_with_answers_are_refused():
    check([a_set(LEAST_LINKS, LEAST_LINKS), a_set(3, 0)])
    for sets in ([], [a_set(100, LEAST_LINKS - 1)], [a_set(100, 0)]):
        with pytest.raises(EvaluationFailed, match=f"at least {LEAST_LINKS} links"):
            check(sets)


def test_folders_with_a_common_host_are_one_site(tmp_path):
    one, two, other = (a_folder(tmp_path / name) for name in ("one", "two", "other"))
    lines(other, "train", [a_link_record("http://b.test/1", "http://b.test/2", "b")])
    assert sites([one, two, other]) == {one: "one", two: "one", other: "other"}
