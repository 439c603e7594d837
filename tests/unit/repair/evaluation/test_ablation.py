"""repair.evaluation.ablation: ranking without one kind of evidence."""

from dataclasses import replace

import pytest

from repair.evaluation.ablation import LACKS, AblatedView, MissingEvidence, _columns, ablation
from repair.ranking import rankmodel
from repair.ranking.features import FEATURES
from repair.simulation.pseudobroken import BreakagePlan, Variant
from repair.simulation.testbed import build_testbed
from tests.folders import a_folder


@pytest.fixture
def made(tmp_path):
    plan = BreakagePlan(folder=a_folder(tmp_path / "site"), variant=Variant.MOVED)
    with build_testbed(plan, tmp_path / "cache", rankmodel.default()) as found:
        yield found


def test_each_ablation_has_a_row_and_removing_nothing_is_the_full_model(made):
    table = ablation(made)
    assert [*table] == [name for name in LACKS if name != "copy"]
    assert table["nothing"] == {"R@1": 1.0, "R@10": 1.0, "MRR": 1.0}


def test_without_any_evidence_hardly_anything_is_found(made):
    nothing = MissingEvidence(
        link={"anchor": "", "before": "", "after": "", "source_url": None},
        inlinks=False,
        address=False,
        compared=False,
        moves=False,
    )
    assert ablation(made, lacks={"all": nothing})["all"]["R@1"] < 0.5


def test_copies_are_ablated_where_they_are_known(tmp_path):
    plan = BreakagePlan(folder=a_folder(tmp_path / "site"), variant=Variant.MOVED)
    nothing = {"link": {"anchor": "", "before": "", "after": "", "source_url": None}, "inlinks": False}
    blind = MissingEvidence(**nothing, address=False, compared=False, moves=False)
    lacks = {"all but the copy": blind, "all": replace(blind, copy=False)}
    with build_testbed(plan, tmp_path / "cache", rankmodel.default(), copied=True) as made:
        table = ablation(made, lacks=lacks)
    assert table["all"]["R@1"] < 0.5 < table["all but the copy"]["R@1"]


def test_removing_the_address_keeps_the_links_to_it(made):
    case = next(made.cases())
    view = AblatedView(made, LACKS["url"])
    link = view.show_reduced(case)
    assert "site.test" not in link.url
    assert len(view.inlinks(link.url)) == 2
    blind = AblatedView(made, LACKS["link neighbourhood"])
    assert blind.inlinks(blind.show_reduced(case).url) == ()


def test_removing_context_removes_that_of_other_links(made):
    view = AblatedView(made, LACKS["context"])
    link = view.show_reduced(next(made.cases()))
    assert link.before == link.after == ""
    assert {inlink.link.before for inlink in view.inlinks(link.url)} == {""}


@pytest.mark.parametrize("name", ["anchor index", "links of candidates", "company", "priors"])
def test_patterns_of_features_match_and_include_normalised_forms(name):
    silent = {FEATURES[at] for at in _columns(LACKS[name].silent)}
    assert silent
    assert {f"{each}/best" for each in silent if f"{each}/best" in FEATURES} <= silent
