"""A site gave up an address and kept the page elsewhere: the reader gets the page, by the default model."""

import pytest

from repair.parse.jsonlines import records
from repair.ranking import rankmodel
from repair.ranking.learned import LearnedRanker
from repair.simulation.pseudobroken import BreakagePlan, Variant, collection
from tests.folders import a_random_folder
from tests.make import a_broken_link

ASKED = 40
IN_ENGLISH = (
    ". This is what there was to say about it, and that is all that we know of them. If you would like to read more"
    " than this, then go back to where you were before and look for what other pages have to say about the same."
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return a_random_folder(tmp_path_factory.mktemp("readdressed") / "site", 150, ASKED, ending=IN_ENGLISH)


@pytest.fixture(scope="module")
def ranker(folder, tmp_path_factory):
    plan = BreakagePlan(folder=folder, variant=Variant.KEPT)
    with collection(plan, tmp_path_factory.mktemp("cache")) as made:
        yield LearnedRanker(made, rankmodel.default())


def ask(ranker, record, url):
    link = a_broken_link(url, source_url=record["source_url"])
    return ranker.find(link, hidden=frozenset({record["source_url"]}))


@pytest.mark.parametrize(
    "rename",
    [
        lambda url: url.replace(".html", "_old_edition.html"),
        lambda url: url.replace(".html", ".php"),
        lambda url: url.replace(".html", "/"),
        lambda url: url.replace("/part", "/archive/2016/part"),
        lambda url: url.replace("http://", "http://www."),
        lambda url: url.upper().replace("HTTP://SITE.TEST", "http://site.test"),
    ],
    ids=["words", "suffix", "slash", "date", "host", "case"],
)
def test_nearly_every_page_with_another_address_is_offered_first(ranker, folder, rename):
    asked = list(records(folder, "test"))
    found = [ask(ranker, record, rename(record["target_url"])) for record in asked]
    right = [
        bool(ranked) and ranked[0].page.url == record["target_url"]
        for ranked, record in zip(found, asked, strict=True)
    ]
    assert sum(right) >= 0.95 * ASKED


def test_an_address_that_names_nothing_saved_gets_no_list(ranker, folder):
    asked = list(records(folder, "test"))
    found = [
        ask(ranker, record, f"http://site.test/part1/quartz_{at}_syntax.html")
        for at, record in enumerate(asked)
    ]
    assert sum(map(bool, found)) <= 0.1 * ASKED
