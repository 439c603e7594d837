"""What each evidence is worth."""

from dataclasses import replace

import pytest

from repair import rankmodel
from repair.evaluate.ablation import LACKS, Forgetful, Lack, _columns, ablation
from repair.evaluate.bench import bench
from repair.features import FEATURES
from repair.simulate import Plan, Variant
from tests.folders import a_folder


@pytest.fixture
def made(tmp_path):
    plan = Plan(folder=a_folder(tmp_path / "site"), variant=Variant.MOVED)
    with bench(plan, tmp_path / "cache", rankmodel.default()) as found:
        yield found


def test_there_is_a_row_for_each_lack_and_nothing_lacking_is_the_model_itself(made):
    table = ablation(made)
    assert [*table] == [name for name in LACKS if name != "copy"]
    assert table["nothing"] == {"R@1": 1.0, "R@10": 1.0, "MRR": 1.0}


def test_without_any_evidence_hardly_anything_is_found(made):
    nothing = Lack(
        link={"anchor": "", "before": "", "after": "", "source_url": None},
        inlinks=False,
        address=False,
        compared=False,
        moves=False,
    )
    assert ablation(made, lacks={"all": nothing})["all"]["R@1"] < 0.5


def test_where_copies_are_known_it_is_measured_what_they_are_worth(tmp_path):
    plan = Plan(folder=a_folder(tmp_path / "site"), variant=Variant.MOVED)
    nothing = {"link": {"anchor": "", "before": "", "after": "", "source_url": None}, "inlinks": False}
    blind = Lack(**nothing, address=False, compared=False, moves=False)
    lacks = {"all but the copy": blind, "all": replace(blind, copy=False)}
    with bench(plan, tmp_path / "cache", rankmodel.default(), copied=True) as made:
        table = ablation(made, lacks=lacks)
    assert table["all"]["R@1"] < 0.5 < table["all but the copy"]["R@1"]


def test_who_does_not_know_the_address_still_knows_who_links_there(made):
    case = next(made.cases())
    view = Forgetful(made, LACKS["url"])
    link = view.turn(case)
    assert "site.test" not in link.url
    assert len(view.inlinks(link.url)) == 2
    blind = Forgetful(made, LACKS["link neighbourhood"])
    assert blind.inlinks(blind.turn(case).url) == ()


def test_without_context_other_links_have_none_either(made):
    view = Forgetful(made, LACKS["context"])
    link = view.turn(next(made.cases()))
    assert link.before == link.after == ""
    assert {inlink.link.before for inlink in view.inlinks(link.url)} == {""}


@pytest.mark.parametrize("name", ["anchor index", "links of candidates", "company", "priors"])
def test_features_that_fall_silent_are_there_and_take_what_is_made_of_them_along(name):
    silent = {FEATURES[at] for at in _columns(LACKS[name].silent)}
    assert silent
    assert {f"{each}/best" for each in silent if f"{each}/best" in FEATURES} <= silent
