"""The decision procedure as a baseline."""

from repair.evaluation.papers.decision import DecisionBaseline
from tests.holdings import SITE, a_collection, a_document
from tests.make import a_broken_link


def test_a_pretended_lost_page_is_found_without_its_own_copy(tmp_path):
    documents = [
        a_document("/volcano.html", title="Volcano eruption", text="Lava and ash. " * 9),
        a_document("/river.html", title="River", text="Water and volcano eruption. " * 9),
    ]
    link = a_broken_link(SITE + "/volcano.html", anchor="volcano eruption")
    with a_collection(tmp_path, *documents) as collection:
        (run,) = DecisionBaseline(collection, collection).runs(link)
        assert run.name == "decision procedure"
        assert run.pages[0] == collection.page_number(link.url)


def test_no_recommendation_gives_an_empty_ranking(tmp_path):
    with a_collection(tmp_path, a_document("/a", text="some words here")) as collection:
        (run,) = DecisionBaseline(collection, collection).runs(a_broken_link(SITE + "/b", anchor="here"))
        assert run.pages == []
