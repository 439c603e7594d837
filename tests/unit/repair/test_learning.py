import numpy as np
import pytest

from repair import rankmodel
from repair.features import FEATURES
from repair.simulate import Plan, Variant
from tests.folders import a_folder

pytest.importorskip("sklearn")

from repair.learn import examples as learning
from repair.learn.examples import Examples, gathered, gone, groups, poorer
from repair.learn.train import learnt, saved
from repair.renames import renamed

ANCHOR = FEATURES.index("anchor.title/best")


def made_up(links=40, candidates=12):
    """The answer has the best anchor and title; the rest is noise."""
    lots = np.random.default_rng(0)
    rows = lots.random((links * candidates, len(FEATURES))).astype(np.float32)
    answer = np.arange(len(rows)) % candidates == 0
    for name in ("anchor.title", "anchor.title/best", "slug.title"):
        rows[:, FEATURES.index(name)] = np.where(answer, 1.0, 0.8 * rows[:, FEATURES.index(name)])
    return Examples(
        name="made up",
        rows=rows,
        answer=answer,
        similarity=np.where(answer, 1.0, 0.5 * rows[:, ANCHOR]),
        link=np.repeat(np.arange(links), candidates),
    )


def test_a_model_learns_what_tells_and_survives_being_saved():
    model = rankmodel.loads(saved(learnt([made_up()], {})), "test")
    test = made_up(links=10)
    for of_link in groups(test.link):
        assert test.answer[of_link][model.judge(test.rows[of_link]).values.argmax()]


def test_where_the_answer_is_gone_no_candidate_is_it_and_somebody_is_best():
    left = gone(made_up())
    assert not left.answer.any()
    assert left.rows[:11, ANCHOR].max() == 1.0


def test_poorer_examples_lack_the_same_evidence_for_all_candidates_of_a_link():
    found = poorer(made_up(), 1)
    for of_link in groups(found.link):
        lacking = (found.rows[of_link] == 0).all(axis=0)
        assert any(lacking[columns].all() for columns in learning._COLUMNS)
    assert all(learning._COLUMNS)


def test_examples_of_a_folder_have_their_answers_among_the_candidates(tmp_path):
    plan = Plan(folder=a_folder(tmp_path / "site"), variant=Variant.MOVED, split="train")
    found = gathered(plan, tmp_path / "cache")
    assert found.links == 8
    assert found.answerable().all()
    assert found.similarity[found.answer].min() > 0.99


def test_renamed_addresses_are_all_different_and_none_is_old():
    old = [f"http://a.test/docs/d{at % 3}/Some_Page_{at}.html" for at in range(60)]
    new = renamed(old)
    assert list(new) == old
    assert len({*new.values(), *old}) == 120
    assert new == renamed(old)
