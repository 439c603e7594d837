"""Single sources of evidence."""

import numpy as np
import pytest

from repair.evaluation.papers.postings import Postings
from repair.evaluation.papers.singlesources import (
    FEATURES,
    SingleSources,
    SourceQuery,
    SourceReader,
    TermChoice,
    normalise_scores,
)
from tests.holdings import SITE, a_collection, a_document
from tests.make import a_broken_link

LINK = a_broken_link(
    SITE + "/wiki/Lava_flow.html",
    source_url=SITE + "/source",
    anchor="the crater",
    before="one two three hills near a",
    after="with moss on top of it",
)


@pytest.fixture
def collection(tmp_path):
    documents = [
        a_document("/crater", title="Crater", text="A crater is a hole with lava. Everywhere."),
        a_document("/moss", title="Moss", text="Moss grows on lava stones. Everywhere."),
        a_document("/sea", title="Sea", text="Waves of salt water. Everywhere."),
        a_document("/source", title="Islands", text="Basalt basalt basalt moss moss palm. Everywhere."),
        *(a_document(f"/rain/{at}", title=f"Rain {at}", text="Drops. Everywhere.") for at in range(6)),
    ]
    with a_collection(tmp_path, *documents) as found:
        yield found


def terms(collection, source, link=LINK, **reading):
    return SourceReader(collection, Postings(collection), TermChoice(**reading)).terms(link, source)


def test_anchor_and_url_give_all_terms_but_the_most_common(collection):
    assert terms(collection, "anchor") == ["crater"]
    assert terms(collection, "url") == ["wiki", "lava", "flow"]
    everywhere = a_broken_link(SITE + "/x", anchor="everywhere crater")
    assert terms(collection, "anchor", everywhere) == ["crater"]


def test_the_source_page_gives_its_most_frequent_terms(collection):
    assert terms(collection, "page", terms=2) == ["basalt", "moss"]
    assert terms(collection, "page", a_broken_link(SITE + "/x")) == []


def test_the_context_has_the_given_width(collection):
    assert "hill" not in terms(collection, "context", around=2)
    assert set(terms(collection, "context", around=20)) > {*terms(collection, "context", around=2), "hill"}


@pytest.mark.parametrize("chosen_by", ["tfidf", "kl"])
def test_rarer_terms_are_chosen_first(collection, chosen_by):
    assert terms(collection, "page", chosen_by=chosen_by, terms=1) == ["basalt"]


def test_every_source_and_weighting_ranks_the_whole_collection(collection):
    postings = Postings(collection)
    runs = {run.name: run for run in SingleSources(SourceReader(collection, postings), postings).runs(LINK)}
    assert tuple(runs) == FEATURES
    crater = collection.page_number(SITE + "/crater")
    assert all(runs[f"anchor/{weighting}"].pages == [crater] for weighting in ("tf", "df", "bm25", "lm"))
    assert set(runs["url/bm25"].pages) == {crater, collection.page_number(SITE + "/moss")}
    assert all(run.seconds > 0 for run in runs.values())


def test_formulas_are_over_the_normalised_runs(collection):
    postings = Postings(collection)
    both = ("add", FEATURES.index("anchor/tf"), FEATURES.index("page/tf"))
    *_, run = SingleSources(SourceReader(collection, postings), postings, {"both": both}).runs(LINK)
    pages = [collection.page_number(SITE + url) for url in ("/crater", "/source", "/moss")]
    assert run.name == "both"
    assert run.pages[:3] == pages  # 1 each for crater and source, then moss


def test_the_time_of_each_run_includes_choosing_terms(collection):
    runs = list(SourceQuery("mine", Postings(collection), lambda link: ["lava"], ("bm25", "lm")).runs(LINK))
    assert [run.name for run in runs] == ["mine/bm25", "mine/lm"]
    assert all(len(run.pages) == 2 and run.seconds > 0 for run in runs)


def test_scores_are_normalised_per_query():
    assert normalise_scores(np.array([2.0, 4.0, 3.0])).tolist() == [0.0, 1.0, 0.5]
    assert normalise_scores(np.array([2.0, 2.0])).tolist() == [1.0, 1.0]
    assert normalise_scores(np.array([])).tolist() == []
