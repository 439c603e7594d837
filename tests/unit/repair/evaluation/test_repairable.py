"""Whether the model knows what cannot be repaired."""

from dataclasses import replace

from repair import rankmodel, simulate
from repair.evaluate.bench import Bench, bench
from repair.evaluate.repairable import Verdict, confusion, verdicts
from repair.simulate import Plan, Variant
from tests.folders import a_folder


def test_the_table_counts_offers_against_what_could_be_repaired():
    found = confusion(
        iter(
            [Verdict(True, True)] * 3
            + [Verdict(True, False)]
            + [Verdict(False, True)]
            + [Verdict(False, False)] * 5
        )
    )
    assert (found["n"], found["accuracy"], found["precision"], found["recall"]) == (10, 0.8, 0.75, 0.75)
    assert found["table"] == {
        "repairable": {"offered": 3, "not_offered": 1},
        "not_repairable": {"offered": 1, "not_offered": 5},
    }


def test_no_links_make_an_empty_table():
    assert confusion(iter(()))["accuracy"] == 0.0


def test_every_link_is_judged_with_and_without_its_answer(tmp_path):
    plan = Plan(folder=a_folder(tmp_path / "site"), variant=Variant.MOVED)
    with bench(plan, tmp_path / "cache", rankmodel.default()) as made:
        found = list(verdicts(made))
    assert [verdict.repairable for verdict in found] == [True, False] * 4


class OneCase(Bench):
    """A bench with but one link, whose answer may not be returned."""

    def cases(self):
        case = next(super().cases())
        yield replace(case, hidden=case.hidden | {case.truth})


def test_an_answer_that_may_not_be_returned_says_nothing(tmp_path):
    plan = Plan(folder=a_folder(tmp_path / "site"), variant=Variant.MOVED)
    with simulate.collection(plan, tmp_path / "cache") as collection:
        assert list(verdicts(OneCase(plan, collection, rankmodel.default()))) == []
