"""Links ranked by our model and the papers'."""

import pytest

from repair.evaluation.outcomes import outcomes
from repair.evaluation.papers.singlesources import FEATURES
from repair.ranking import rankmodel
from repair.simulation.pseudobroken import BreakagePlan, Variant
from repair.simulation.testbed import build_testbed
from tests.folders import a_folder


@pytest.fixture
def ranked(tmp_path):
    def of(variant, *, copied=False, **known):
        plan = BreakagePlan(folder=a_folder(tmp_path / "site"), variant=Variant(variant))
        with build_testbed(plan, tmp_path / "cache", rankmodel.default(), copied=copied) as made:
            return outcomes(made, **known)

    return of


@pytest.mark.parametrize("variant", ["kept", "moved"])
def test_links_of_a_plain_site_are_repaired(ranked, variant):
    found = ranked(variant)
    assert [outcome.results["combined"].rank for outcome in found] == [0, 0, 0, 0]
    assert all(outcome.confidence > 0.5 for outcome in found)


def test_with_an_older_version_of_each_page_all_are_found(ranked):
    found = ranked("moved", copied=True)
    assert [outcome.results["combined"].rank for outcome in found] == [0, 0, 0, 0]


def test_every_single_source_has_a_result(ranked):
    for outcome in ranked("moved"):
        beside = {"sum", "neighbourhood/bm25", "neighbourhood/lm", *FEATURES}
        assert set(outcome.results) == {"combined", *beside}


def test_every_runs_all_the_papers_models(ranked):
    names = set(ranked("kept", every=True)[0].results)
    assert {"genetic programming", "term classifier/lm", "decision procedure", "page by kl/lm"} <= names


def test_a_page_that_is_gone_is_never_ranked(ranked):
    for outcome in ranked("gone", every=True):
        assert all(result.rank is None for result in outcome.results.values())
        similar = [result.similar[0] for result in outcome.results.values() if result.similar]
        assert all(0 <= found <= outcome.oracle + 1e-6 for found in similar)


def test_progress_is_reported_twice_per_link(ranked):
    heard = []
    ranked("kept", tell=heard.append)
    assert heard == [1, 2, 3, 4, 5, 6, 7, 8]
