"""The decision procedure as one of the models measured."""

from repair.papers.decision import Decided
from tests.holdings import SITE, a_collection, a_document
from tests.make import a_broken_link


def test_a_page_that_only_pretends_to_be_lost_is_found_and_not_looked_up(tmp_path):
    documents = [
        a_document("/volcano.html", title="Volcano eruption", text="Lava and ash. " * 9),
        a_document("/river.html", title="River", text="Water and volcano eruption. " * 9),
    ]
    link = a_broken_link(SITE + "/volcano.html", anchor="volcano eruption")
    with a_collection(tmp_path, *documents) as collection:
        (run,) = Decided(collection, collection).runs(link)
        assert run.name == "decision procedure"
        assert run.pages[0] == collection.page_number(link.url)


def test_where_it_is_silent_nothing_is_ranked(tmp_path):
    with a_collection(tmp_path, a_document("/a", text="some words here")) as collection:
        (run,) = Decided(collection, collection).runs(a_broken_link(SITE + "/b", anchor="here"))
        assert run.pages == []
