from dataclasses import replace

import pytest

from repair.evaluation.compare import VARIANTS, ModelFigures, compare_models, is_better
from repair.ranking import rankmodel
from tests.folders import a_random_folder
from tests.models import a_bad_model, a_good_model

OLD = ModelFigures(moved=0.9, moved_served=0.88, moved_mrr=0.92, kept=0.95, kept_mrr=0.96, gone=0.5)


def test_only_a_better_mean_replaces_a_model():
    assert is_better(replace(OLD, moved=0.91), OLD)
    assert is_better(replace(OLD, gone=0.51), OLD)
    assert not is_better(OLD, OLD)
    assert not is_better(replace(OLD, moved_mrr=0.99), OLD)


def test_similarity_does_not_compensate_for_lower_recall():
    assert is_better(replace(OLD, moved=0.895, gone=0.7), OLD)
    assert not is_better(replace(OLD, moved=0.88, gone=0.7), OLD)
    assert not is_better(replace(OLD, kept=0.93, gone=0.7), OLD)


def test_a_model_that_finds_more_and_offers_less_replaces_none():
    assert not is_better(replace(OLD, moved=0.95, moved_served=0.8), OLD)


@pytest.mark.slow
def test_models_are_compared_on_the_test_links(tmp_path):
    folder = a_random_folder(tmp_path / "site", 80, 12)
    models = [rankmodel.loads(data, "test") for data in (a_good_model(), a_bad_model())]
    heard = []
    good, bad = compare_models(folder, tmp_path / "cache", models, heard.append)
    assert heard == list(range(1, 12 * len(VARIANTS) + 1))
    assert good.moved > bad.moved
    assert good.moved_mrr > bad.moved_mrr
    assert good.moved >= good.moved_served > bad.moved_served
    assert good.kept > bad.kept
    assert is_better(good, bad)
    assert not is_better(bad, good)
    assert 0 < good.gone <= 1
    assert "moved R@1" in str(good)
