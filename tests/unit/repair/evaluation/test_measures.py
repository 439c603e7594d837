"""repair.evaluation.measures: measures over many links."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from repair.evaluation.measures import calibration, measures, report
from repair.evaluation.outcomes import LinkOutcome, RankingResult
from repair.simulation.pseudobroken import BreakagePlan, Variant


def a_result(rank, similar=(1.0, 0.5, 0.0)):
    return RankingResult(rank=rank, similar=similar, seconds=0.002)


def an_outcome(rank, confidence=1.0, offered=True, **others):
    results = {"combined": a_result(rank), **{name: a_result(found) for name, found in others.items()}}
    return LinkOutcome(
        id="x",
        ranked=("http://a.test/",),
        confidence=confidence,
        offered=offered,
        oracle=0.8,
        results=results,
    )


def test_measures_are_means_over_all_links():
    found = measures([a_result(0), a_result(2), a_result(None), a_result(20)], Variant.MOVED)
    assert (found["R@1"], found["R@3"], found["R@10"]) == (0.25, 0.5, 0.5)
    assert found["MRR"] == pytest.approx((1 + 1 / 3 + 1 / 21) / 4, abs=1e-4)
    assert found["nDCG@10"] == 0.375
    assert (found["Sim@1"], found["Sim@3"], found["p50_ms"]) == (1, 0.5, 2)


def test_a_link_without_ranked_pages_has_similarity_0():
    found = measures([a_result(0), a_result(None, similar=())], Variant.MOVED)
    assert (found["Sim@1"], found["Sim@3"]) == (0.5, 0.25)


def test_calibration_compares_confidence_with_the_share_of_right_answers():
    found = [an_outcome(0, 0.9), an_outcome(0, 0.9), an_outcome(3, 0.9), an_outcome(None, 0.1)]
    told = calibration(found)
    assert [(each["from"], each["n"], each["right"]) for each in told["bins"]] == [
        (0.0, 1, 0.0),
        (0.8, 3, 0.6667),
    ]
    assert told["expected_error"] == pytest.approx((1 * 0.1 + 3 * (0.9 - 2 / 3)) / 4, abs=1e-4)


def test_full_confidence_is_in_the_last_bin_and_empty_rankings_in_none():
    nothing = replace(an_outcome(None, 0.0, offered=False), ranked=())
    told = calibration([an_outcome(0, 1.0), nothing])
    assert [(each["to"], each["n"]) for each in told["bins"]] == [(1.0, 1)]
    assert told["expected_error"] == 0.0


def test_the_report_keeps_the_contract():
    plan = BreakagePlan(folder=Path("site"), variant=Variant.KEPT)
    told = report(plan, [an_outcome(0, anchor=1), an_outcome(1, anchor=None)])
    expected = (
        "collection variant copies n R@1 R@3 R@10 MRR nDCG@10 Sim@1 Sim@3 p50_ms p95_ms offered models served@1"
        " calibration calibration_error"
    )
    assert list(told) == expected.split()
    assert (told["collection"], told["variant"], told["n"], told["R@1"]) == ("site", "kept", 2, 0.5)
    assert told["models"]["combined"]["R@1"] == 0.5
    assert (told["models"]["anchor"]["R@1"], told["models"]["anchor"]["R@3"]) == (0.0, 0.5)
    assert json.dumps(told)


def test_served_are_the_links_whose_list_is_offered_with_the_answer_first():
    plan = BreakagePlan(folder=Path("site"), variant=Variant.MOVED)
    found = [an_outcome(0), an_outcome(0, offered=False), an_outcome(2), an_outcome(None, offered=False)]
    told = report(plan, found)
    assert (told["R@1"], told["offered"], told["served@1"]) == (0.5, 0.5, 0.25)


def test_for_gone_only_similarities_and_the_oracle_count():
    told = report(BreakagePlan(folder=Path("site"), variant=Variant.GONE), [an_outcome(None, anchor=None)])
    assert set(told["models"]["combined"]) == {"Sim@1", "Sim@3", "oracle_Sim@1", "p50_ms", "p95_ms"}
    assert told["oracle_Sim@1"] == 0.8
    assert told["offered"] == 1.0
    assert not {"calibration", "served@1"} & set(told)


def test_a_report_without_links_is_empty():
    told = report(BreakagePlan(folder=Path("site"), variant=Variant.KEPT), [])
    assert (told["n"], told["R@1"], told["calibration"]["bins"]) == (0, 0.0, [])
