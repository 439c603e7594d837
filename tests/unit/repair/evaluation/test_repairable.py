"""Whether the model knows what cannot be repaired."""

from dataclasses import replace

from repair.evaluation.repairable import RepairableVerdict, confusion, false_offers, verdicts
from repair.ranking import rankmodel
from repair.simulation import pseudobroken
from repair.simulation.pseudobroken import BreakagePlan, Variant
from repair.simulation.testbed import RankingTestbed, build_testbed
from tests.folders import a_folder


def test_the_confusion_matrix_counts_offers_by_repairability():
    found = confusion(
        iter(
            [RepairableVerdict(True, True)] * 3
            + [RepairableVerdict(True, False)]
            + [RepairableVerdict(False, True)]
            + [RepairableVerdict(False, False)] * 5
        )
    )
    assert (found["n"], found["accuracy"], found["precision"], found["recall"]) == (10, 0.8, 0.75, 0.75)
    assert found["false_offers"] == 0.1667
    assert found["table"] == {
        "repairable": {"offered": 3, "not_offered": 1},
        "not_repairable": {"offered": 1, "not_offered": 5},
    }


def test_no_links_make_an_empty_confusion_matrix():
    assert confusion(iter(()))["accuracy"] == 0.0


def test_every_link_is_judged_with_and_without_its_answer(tmp_path):
    plan = BreakagePlan(folder=a_folder(tmp_path / "site"), variant=Variant.MOVED)
    with build_testbed(plan, tmp_path / "cache", rankmodel.default()) as made:
        found = list(verdicts(made))
    assert [verdict.repairable for verdict in found] == [True, False] * 4


def test_a_list_is_offered_for_a_saved_page_and_none_where_its_subject_is_hidden(tmp_path):
    plan = BreakagePlan(folder=a_folder(tmp_path / "site"), variant=Variant.MOVED)
    with build_testbed(plan, tmp_path / "cache", rankmodel.default()) as made:
        assert confusion(verdicts(made))["accuracy"] == 1.0
        assert false_offers(made) == 0.0


def test_false_offers_are_of_a_sample_spread_over_the_links(tmp_path):
    plan = BreakagePlan(folder=a_folder(tmp_path / "site"), variant=Variant.MOVED)
    for offer_at, share in ((0.0, 1.0), (1.1, 0.0)):
        model = replace(rankmodel.default(), offer_at=offer_at)
        with build_testbed(plan, tmp_path / "cache", model) as made:
            assert false_offers(made) == share
            assert false_offers(made, sample=2) == share


class OneCase(RankingTestbed):
    """A bench with one link, whose answer may not be returned."""

    def cases(self):
        case = next(super().cases())
        yield replace(case, hidden=case.hidden | {case.truth})


def test_links_whose_answer_is_hidden_are_left_out(tmp_path):
    plan = BreakagePlan(folder=a_folder(tmp_path / "site"), variant=Variant.MOVED)
    with pseudobroken.collection(plan, tmp_path / "cache") as collection:
        assert list(verdicts(OneCase(plan, collection, rankmodel.default()))) == []
