"""The baselines that our model is compared with."""

import pytest

from repair.evaluation.papers.baselines import baselines, good_terms
from repair.evaluation.papers.termclassifier import TermModel
from tests.holdings import SITE, a_collection, a_document, a_link
from tests.make import a_broken_link

LINK = a_broken_link(SITE + "/old/volcano", source_url=SITE + "/source", anchor="volcano craters")
FILLERS = [a_document(f"/filler/{at}", title=f"Filler {at}", text="nothing to see") for at in range(6)]


@pytest.fixture
def collection(tmp_path):
    documents = [
        a_document("/new/volcano", title="Volcano", text="Volcano craters spill lava. " * 5),
        a_document("/source", title="Source", text="Volcano craters near lava, and much further down whales"),
        a_document("/linking", links=[a_link("/old/volcano", "lava mountain")]),
        *FILLERS,
    ]
    with a_collection(tmp_path, *documents) as found:
        yield found


def runs(collection, *, every):
    found = baselines(collection, collection, every=every)
    return {run.name: run for rival in found for run in rival.runs(LINK)}


def test_baseline_names_are_unique_and_slow_ones_run_only_with_every(collection):
    few, all_of_them = runs(collection, every=False), runs(collection, every=True)
    assert set(few) < set(all_of_them)
    dear = {"genetic programming", "term classifier/bm25", "term classifier/lm", "decision procedure"}
    assert dear <= set(all_of_them) - set(few)
    assert {"context ±5/lm", "context ±10/lm", "page by tfidf/lm", "page by kl/lm"} <= set(all_of_them)


def test_the_neighbourhood_queries_with_the_words_of_other_links(collection):
    found = runs(collection, every=False)["neighbourhood/bm25"]
    assert found.pages[0] == collection.page_number(SITE + "/new/volcano")


def test_the_sum_ranks_first_what_most_sources_agree_on(collection):
    found = [page for page in runs(collection, every=False)["sum"].pages if page != 2]
    assert found[0] == collection.page_number(SITE + "/new/volcano")


def test_the_classifier_chooses_terms_that_are_neither_in_anchor_nor_url(collection):
    nearer = TermModel(means=(0.0,) * 12, scales=(1.0,) * 12, weights=(-1.0, *(0.0,) * 11), bias=0.0)
    chosen = good_terms(nearer, collection, LINK)
    assert chosen.index("lava") < chosen.index("whale")
    assert not {"volcano", "crater"} & set(chosen)


def test_the_source_page_can_be_asked_with_what_another_source_lacks(collection):
    every = runs(collection, every=True)
    target = collection.page_number(SITE + "/new/volcano")
    assert target in every["page minus anchor/lm"].pages  # by "lava", which the anchor does not have
    assert {"page minus url/lm", "page minus context/lm"} <= set(every)


def test_a_plain_script_asks_with_words_as_they_are_written(tmp_path):
    documents = [
        a_document("/a", title="Walking", text="Walking walks of walkers. " * 3),
        a_document("/b", title="Walk", text="A walk in the park."),
        *FILLERS,
    ]
    with a_collection(tmp_path, *documents) as collection:
        link = a_broken_link(SITE + "/old", anchor="walk")
        found = {
            run.name: run.pages
            for each in baselines(collection, collection, every=True)
            for run in each.runs(link)
        }
        assert found["anchor as written/bm25"] == [collection.page_number(SITE + "/b")]
        assert len(found["anchor/bm25"]) == 2
