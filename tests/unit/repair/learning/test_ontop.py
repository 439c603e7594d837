"""The school's own trees, on top of the default model."""

import json
from importlib import resources

import numpy as np
import pytest

pytest.importorskip("lightgbm")

from repair.learning.examples import Examples, ExampleSets, groups
from repair.learning.ontop import learn_on_top
from repair.learning.train import save_model
from repair.ranking import rankmodel
from repair.ranking.features import FEATURES

_CANDIDATES = 12
_TAIL = FEATURES.index("address.tail")


def odd_links(links, seed=0):
    """Links of a school where what the default likes misleads: the answer has no anchor in its title, but a tail."""
    lots = np.random.default_rng(seed)
    rows = (0.2 * lots.random((links * _CANDIDATES, len(FEATURES)))).astype(np.float32)
    place = np.arange(len(rows)) % _CANDIDATES
    for name in ("anchor.title", "anchor.title/best", "anchor=title"):
        rows[:, FEATURES.index(name)] = place == 1
    rows[:, _TAIL] = place == 0
    return Examples(
        name="odd",
        rows=rows,
        answer=place == 0,
        similarity=np.zeros(len(rows)),
        link=np.repeat(np.arange(links), _CANDIDATES),
    )


def first_right(identity, examples):
    scores = identity.scores(examples.rows)
    right = [examples.answer[of_link][scores[of_link].argmax()] for of_link in groups(examples.link)]
    return float(np.mean(right))


@pytest.fixture(scope="module")
def trained():
    found = odd_links(60)
    none = found.subset(np.zeros(len(found.link), bool))
    return learn_on_top([ExampleSets(found=found, gone=none, unrelated=none)], {"folders": ["own"]})


def test_what_the_default_ranks_wrong_is_corrected(trained):
    test = odd_links(30, seed=1)
    model = rankmodel.loads(save_model(trained), "test")
    assert first_right(rankmodel.default().identity, test) < 0.5
    assert first_right(model.identity, test) > 0.9


def test_all_else_stays_as_the_default_has_it(trained):
    default, model = rankmodel.default(), rankmodel.loads(save_model(trained), "test")
    assert (model.offer_at, model.temperature) == (default.offer_at, default.temperature)
    signals = np.random.default_rng(0).random((20, len(rankmodel.SIGNALS)))
    assert np.array_equal(model.right.scores(signals), default.right.scores(signals))
    assert np.array_equal(model.repairable.scores(signals), default.repairable.scores(signals))
    assert trained.about["folders"] == ["own"]
    assert trained.about["on top of"] == default.about


def test_all_scores_are_scaled_alike_so_that_wrong_pages_are_no_further_apart(trained):
    """Here the new trees drive candidates apart, and unscaled scores would make every ranking look sure."""
    trees = json.loads((resources.files("repair.ranking") / "models" / "default.json").read_bytes())
    before = np.concatenate([tree["value"] for tree in trees["identity"]["trees"]])
    after = np.concatenate([tree["value"] for tree in trained.identity.trees])[: len(before)]
    scales = after[before != 0] / before[before != 0]
    assert 0 < scales.mean() < 1
    assert np.ptp(scales) < 0.001


def test_features_that_the_default_lacks_can_be_learnt(trained):
    known = json.loads((resources.files("repair.ranking") / "models" / "default.json").read_bytes())[
        "features"
    ]
    assert trained.features[: len(known)] == known
    assert sorted(trained.features) == sorted(FEATURES)


def test_own_links_without_any_page_of_their_subject_set_when_to_offer():
    """The default is sure of these links with and without their page; a school sees that only half deserve a list."""
    found = odd_links(160)
    unrelated = found.subset(~found.answer)
    fitted = learn_on_top([ExampleSets(found=found, gone=unrelated, unrelated=unrelated)], {})
    plain = learn_on_top([ExampleSets(found=found, gone=unrelated, unrelated=none_of(found))], {})
    assert plain.offer_at == rankmodel.default().offer_at
    assert fitted.offer_at != plain.offer_at
    assert fitted.right.base > plain.right.base == rankmodel.default().right.base


def none_of(examples):
    return examples.subset(np.zeros(len(examples.link), bool))
