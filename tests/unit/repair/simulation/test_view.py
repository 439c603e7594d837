"""A collection as one broken link under test may see it."""

import pytest

from repair.model import Document
from repair.simulation.pseudobroken import BrokenCase
from repair.simulation.view import EvaluationView
from tests.holdings import SITE, a_collection, a_document, a_link
from tests.make import a_broken_link

OLD, NEW, OTHER = f"{SITE}/old", f"{SITE}/new", f"{SITE}/other"


@pytest.fixture
def view(tmp_path):
    pages = [
        a_document(NEW, title="Rain", text="Rain falls.", links=[a_link(OTHER, "other")]),
        a_document(OTHER, title="Other", links=[a_link(OLD, "rain")]),
    ]
    with a_collection(tmp_path, *pages) as collection:
        yield EvaluationView(collection)


def a_case(source=None):
    link = a_broken_link(OLD, source_url=f"{SITE}/source")
    return BrokenCase(id="1", number=0, link=link, truth=NEW, hidden=frozenset(), source=source)


def test_the_old_url_has_an_older_version_only_if_it_was_copied(view):
    view.show(a_case())
    assert view.get(OLD) is None
    view.show(a_case(), copied=True)
    assert (view.get(OLD).url, view.get(OLD).text) == (OLD, "Rain falls.")
    assert view.get(NEW).url == NEW
    view.show(a_case())
    assert view.get(OLD) is None


def test_links_of_a_gone_page_are_not_visible(view):
    view.show(a_case())
    assert [inlink.source_url for inlink in view.inlinks(OTHER)] == [NEW]
    view.show(a_case(), gone=True)
    assert view.inlinks(OTHER) == ()
    assert [inlink.source_url for inlink in view.inlinks(OLD)] == [OTHER]


def test_the_source_page_is_visible_as_it_was(view):
    source = Document(url=f"{SITE}/source", title="Source", text="As it was.", language="en")
    view.show(a_case(source))
    assert view.get(source.url).text == "As it was."
    assert view.get(OTHER).title == "Other"
