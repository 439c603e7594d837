import numpy as np
import pytest

from repair.ranking import rankmodel
from repair.ranking.features import FEATURES
from repair.simulation.pseudobroken import BreakagePlan, Variant
from tests.folders import a_folder

pytest.importorskip("sklearn")

from repair.learning import examples as learning
from repair.learning.examples import Examples, drop_evidence, gather_examples, gone_examples, groups
from repair.learning.train import learn_model, save_model
from repair.simulation.reorganisation import rename_address

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


@pytest.mark.slow
def test_a_model_learns_the_informative_feature_and_survives_saving():
    model = rankmodel.loads(save_model(learn_model([made_up()], {})), "test")
    test = made_up(links=10)
    for of_link in groups(test.link):
        assert test.answer[of_link][model.judge(test.rows[of_link]).values.argmax()]


def test_without_the_answer_no_candidate_is_right_and_one_is_most_similar():
    left = gone_examples(made_up())
    assert not left.answer.any()
    assert left.rows[:11, ANCHOR].max() == 1.0


def test_poorer_examples_lack_the_same_evidence_for_all_candidates_of_a_link():
    found = drop_evidence(made_up(), 1)
    for of_link in groups(found.link):
        lacking = (found.rows[of_link] == 0).all(axis=0)
        assert any(lacking[columns].all() for columns in learning._COLUMNS)
    assert all(learning._COLUMNS)


def test_examples_of_a_folder_have_their_answers_among_the_candidates(tmp_path):
    plan = BreakagePlan(folder=a_folder(tmp_path / "site"), variant=Variant.MOVED, split="train")
    found = gather_examples(plan, tmp_path / "cache")
    assert found.links == 8
    assert found.answerable().all()
    assert found.similarity[found.answer].min() > 0.99


def test_renamed_addresses_are_all_different_and_none_is_old():
    old = [f"http://a.test/docs/d{at % 3}/Some_Page_{at}.html" for at in range(60)]
    new = rename_address(old)
    assert list(new) == old
    assert len({*new.values(), *old}) == 120
    assert new == rename_address(old)
