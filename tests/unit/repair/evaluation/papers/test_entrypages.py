"""The entry-page task: anchors that name a home page."""

import pytest

from repair.evaluation.papers import tables
from repair.evaluation.papers.entrypages import EntryPageTask, is_entry_page, measure_entry_pages
from repair.simulation.pseudobroken import BreakagePlan, BrokenCase, Variant
from repair.simulation.testbed import build_testbed
from tests.folders import a_folder
from tests.holdings import SITE, a_collection, a_document, a_link
from tests.make import a_broken_link


@pytest.mark.parametrize(
    ("path", "is_entry"),
    [("/", True), ("/index.html", True), ("/maths/", True), ("/maths/sums/", False), ("/maths/sums", False)],
)
def test_entry_pages_are_starts_of_hosts_and_of_directories_at_their_top(path, is_entry):
    assert is_entry_page(SITE + path) is is_entry


@pytest.fixture
def ranked(tmp_path):
    """By name of the way, the path of the first page for the anchor "river school"."""
    documents = [
        a_document("/", title="River school", text="Welcome to the river school."),
        a_document("/news/1", title="River school news", text="The river school river school river school."),
        *(a_document(f"/news/{at}", links=[a_link("/", "the river school")]) for at in range(2, 8)),
    ]
    with a_collection(tmp_path, *documents) as collection:
        link = a_broken_link(f"{SITE}/lost", anchor="river school")
        case = BrokenCase(id="1", number=0, link=link, truth=f"{SITE}/", hidden=frozenset())
        rankings = EntryPageTask(collection).rankings(case)
        summaries = collection.page_summaries(collection.numbers())
        yield {name: summaries[pages[0]].url.removeprefix(SITE) for name, pages in rankings}


def test_priors_and_hits_prefer_the_page_that_is_at_the_root_and_linked_to(ranked):
    assert ranked["text, prior none"] == "/news/1"
    assert ranked["anchors, prior none"] == "/"
    assert all(ranked[f"text, prior {prior}"] == "/" for prior in ("URL type", "both"))
    assert ranked["HITS, base set"] == "/"


def test_links_to_other_pages_are_not_part_of_the_task(tmp_path):
    plan = BreakagePlan(folder=a_folder(tmp_path / "site"), variant=Variant.KEPT)
    with build_testbed(plan, tmp_path / "cache", None) as bench:
        entries = sum(is_entry_page(case.truth) for case in bench.cases())
        assert measure_entry_pages(bench)[0] == entries


def test_both_tables_are_printed(tmp_path, capsys):
    tables.main([str(a_folder(tmp_path / "site")), "--cache", str(tmp_path / "cache"), "--limit", "3"])
    said = capsys.readouterr().out
    assert "LS7-TI" in said
    assert "links to entry pages\tMRR" in said
