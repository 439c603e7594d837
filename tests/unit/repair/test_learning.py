import re

import numpy as np
import pytest

from repair.ranking import rankmodel
from repair.ranking.features import FEATURES
from repair.ranking.rankmodel import SIGNALS
from repair.ranking.trees import forest
from repair.simulation.pseudobroken import BreakagePlan, Variant
from repair.simulation.testbed import UNRELATED
from tests.folders import a_folder

pytest.importorskip("sklearn")

from repair.learning import boosting, train
from repair.learning import examples as learning
from repair.learning.examples import Examples, ExampleSets, drop_evidence, gather_examples, groups
from repair.learning.train import JudgedRankings, learn_model, save_model
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


def made_up_sets(site, links=40):
    found = made_up(links)
    without = found.subset(~found.answer)
    return ExampleSets(found=found, gone=without, unrelated=without, site=site)


@pytest.mark.slow
@pytest.mark.parametrize("sites", [("one",), ("one", "two")])
def test_a_model_learns_the_informative_feature_and_survives_saving(sites):
    told = []
    trained = learn_model([made_up_sets(site) for site in sites], {}, told.append)
    model = rankmodel.loads(save_model(trained), "test")
    test = made_up(links=10)
    for of_link in groups(test.link):
        assert test.answer[of_link][model.judge(test.rows[of_link]).values.argmax()]
    assert len(told) == 3  # two sites or two halves of one, each left out once, then all links


def test_more_of_a_rising_value_never_lowers_the_odds():
    lots = np.random.default_rng(0)
    rows = lots.random((600, 2))
    lower_is_likelier = rows[:, 0] + 0.3 * lots.random(600) < 0.6
    saved = boosting.fit_odds(rows, lower_is_likelier, np.ones(600), rising=(True, False), trees=20, leaves=6)
    odds = forest(saved.trees, saved.base, 2)
    steps = np.linspace(0, 1, 50)
    for second in (0.1, 0.5, 0.9):
        found = odds.scores(np.stack([steps, np.full(50, second)], axis=1))
        assert (np.diff(found) >= -1e-9).all()


def judged_rankings(kinds, alike, signal):
    """Rankings of two sites whose one telling signal is `signal`; the lost page is there where `kinds` says found."""
    count = len(kinds)
    signals = np.zeros((count, len(SIGNALS)), np.float32)
    signals[:, SIGNALS.index("first.anchor.title")] = signal
    found = np.array(kinds) == "found"
    return JudgedRankings(
        name=np.full(count, "made up"),
        site=np.where(np.arange(count) % 2, "one", "two"),
        kind=np.array(kinds),
        is_full=np.ones(count, bool),
        held=found,
        right=found,
        alike=np.array(alike),
        signals=signals,
    )


def odds_of(saved, signal):
    rows = np.zeros((1, len(SIGNALS)), np.float32)
    rows[0, SIGNALS.index("first.anchor.title")] = signal
    return float(forest(saved.trees, saved.base, len(SIGNALS)).scores(rows)[0])


def test_a_page_like_the_one_that_is_gone_is_worth_offering_and_an_unlike_one_is_not_learnt_from():
    kinds = ["found"] * 300 + ["gone"] * 300 + ["unrelated"] * 300
    signal = np.repeat([0.9, 0.5, 0.1], 300)
    alike, unlike = (
        train._fit_repairable(judged_rankings(kinds, np.repeat([1.0, to_lost, 0.1], 300), signal))
        for to_lost in (0.7, 0.4)
    )
    assert odds_of(unlike, 0.1) < 0 < odds_of(unlike, 0.9)
    # The boundary is halfway between those that are learnt from: 0.1 and 0.5, or 0.1 and 0.9.
    assert odds_of(unlike, 0.4) < 0 < odds_of(alike, 0.4)


def test_poorer_examples_lack_the_same_evidence_for_all_candidates_of_a_link():
    found = drop_evidence(made_up(), 1)
    for of_link in groups(found.link):
        lacking = (found.rows[of_link] == 0).all(axis=0)
        assert any(lacking[columns].all() for columns in learning._COLUMNS)
    assert all(learning._COLUMNS)


def test_each_link_is_an_example_with_its_page_without_it_and_without_its_subject(tmp_path):
    plan = BreakagePlan(folder=a_folder(tmp_path / "site"), variant=Variant.MOVED, split="train")
    sets = gather_examples(plan, tmp_path / "cache")
    assert sets.is_answered
    assert sets.found.links == sets.gone.links == sets.unrelated.links == 8
    assert sets.found.answerable().all()
    assert sets.found.similarity[sets.found.answer].min() > 0.99
    assert not sets.gone.answer.any()
    assert sets.unrelated.similarity.max() < UNRELATED
    assert len(sets.found.link) == len(sets.gone.link) + 8


def test_pages_that_are_gone_have_no_answers(tmp_path):
    plan = BreakagePlan(folder=a_folder(tmp_path / "site"), variant=Variant.GONE, split="train")
    assert not gather_examples(plan, tmp_path / "cache").is_answered


def test_renamed_addresses_are_all_different_and_none_is_old():
    old = [f"http://a.test/docs/d{at % 3}/Some_Page_{at}.html" for at in range(60)]
    new = rename_address(old)
    assert list(new) == old
    assert len({*new.values(), *old}) == 120
    assert new == rename_address(old)


def test_sites_reorganise_in_every_way_that_sites_do():
    old = [f"http://www.a{at % 40}.test/fr/d{at % 9}/2019/Some_Page_{at}.html" for at in range(2000)]
    new = list(rename_address(old).values())
    for way in (
        r"/\Z",
        r"\.php\Z",
        r"/20\d\d-\d\d-",
        r"//archive\.",
        r"/\d{4,5}-",
        r"/some[-_]page",
        r"-site\.example/",
    ):
        assert any(re.search(way, url, re.ASCII) for url in new), way
    assert any("/2019/" not in url for url in new)
    assert any("/fr/" not in url for url in new)
    assert sum("page" in url.lower() for url in new) > 0.9 * len(new)
