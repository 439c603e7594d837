"""Queries from copies of lost pages."""

import pytest

from repair.evaluation.papers.sequences import AT, found_at, measure_sequences, then
from repair.simulation.pseudobroken import BreakagePlan, Variant
from repair.simulation.testbed import build_testbed
from tests.folders import a_folder


@pytest.mark.parametrize(
    ("first", "second", "rank"),
    [(0, 5, 0), (9, 0, 9), (10, 3, 3), (None, 3, 3), (12, None, None), (None, None, None)],
)
def test_a_user_asks_again_when_the_first_ten_lack_the_page(first, second, rank):
    assert then(first, second) == rank


def test_shares_are_of_all_links_at_each_depth():
    ranks = [{"TI": 0}, {"TI": 15}, {"TI": None}, {}]
    assert dict(zip(AT, found_at(ranks)["TI"], strict=True)) == {
        1: 0.25,
        10: 0.25,
        20: 0.5,
        50: 0.5,
        100: 0.5,
    }


def ranks_of(place, *, copied):
    plan = BreakagePlan(folder=a_folder(place / "site"), variant=Variant.MOVED)
    with build_testbed(plan, place / "cache", None, copied=copied) as bench:
        return measure_sequences(bench)


def test_the_title_and_the_signature_of_a_copy_find_its_page(tmp_path):
    found = found_at(ranks_of(tmp_path, copied=True))
    assert {"TI", "LS5", "LS7", "TI-LS5", "LS5-TI", "LS7-TI", "copy by divergence"} < set(found)
    assert found["TI"][0] > 0
    assert found["TI-LS5"][1] >= max(found["TI"][1], found["LS5"][1])


def test_without_a_copy_only_the_link_itself_is_asked_with(tmp_path):
    assert set(found_at(ranks_of(tmp_path, copied=False))) == {
        "URL by divergence from URLs",
        "context by divergence",
    }
