import json

import pytest

from repair import rankmodel
from repair.evaluate import Outcome, measures, outcomes, report
from repair.simulate import Plan, Variant
from tests.folders import a_folder, url_of


@pytest.fixture
def folder(tmp_path):
    return a_folder(tmp_path / "site")


def an_outcome(rank, similar=(1.0, 0.5, 0.0)):
    return Outcome(
        id="x",
        ranked=(),
        rank=rank,
        similar=similar,
        oracle=0.8,
        repairable=1.0,
        confidence=1.0,
        seconds=0.002,
    )


def test_measures_are_means_over_all_links():
    found = measures([an_outcome(0), an_outcome(2), an_outcome(None), an_outcome(20)], Variant.MOVED)
    assert (found["R@1"], found["R@3"], found["R@10"]) == (0.25, 0.5, 0.5)
    assert found["MRR"] == pytest.approx((1 + 1 / 3 + 1 / 21) / 4, abs=1e-4)
    assert found["nDCG@10"] == 0.375
    assert (found["Sim@1"], found["Sim@3"], found["p50_ms"]) == (1, 0.5, 2)


def test_for_gone_only_similarities_count():
    assert set(measures([an_outcome(None)], Variant.GONE)) == {
        "Sim@1",
        "Sim@3",
        "oracle_Sim@1",
        "p50_ms",
        "p95_ms",
    }


@pytest.mark.parametrize("variant", ["kept", "moved"])
def test_links_of_a_plain_site_are_repaired(folder, tmp_path, variant):
    plan = Plan(folder=folder, variant=Variant(variant))
    found = list(outcomes(plan, tmp_path / "cache", rankmodel.default()))
    assert [outcome.rank for outcome in found] == [0, 0, 0, 0]


def test_a_page_that_is_gone_is_never_ranked(folder, tmp_path):
    plan = Plan(folder=folder, variant=Variant.GONE)
    found = list(outcomes(plan, tmp_path / "cache", rankmodel.default()))
    assert all(outcome.rank is None for outcome in found)
    assert all(0 <= outcome.similar[0] <= outcome.oracle + 1e-6 for outcome in found if outcome.similar)


def test_the_report_keeps_the_contract(folder, tmp_path):
    plan = Plan(folder=folder, variant=Variant.KEPT, limit=2)
    told = report(plan, list(outcomes(plan, tmp_path / "cache", rankmodel.default())))
    expected = "collection variant n R@1 R@3 R@10 MRR nDCG@10 Sim@1 Sim@3 p50_ms p95_ms models"
    assert list(told) == expected.split()
    assert (told["collection"], told["variant"], told["n"]) == ("site", "kept", 2)
    assert json.dumps(told)
    assert url_of(0)
