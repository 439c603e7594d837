"""repair.newversion: queries for the new version of a lost page."""

import pytest

from repair.evidence.hints import Hints
from repair.evidence.neighbourhood import NeighbourhoodLimits
from repair.model import Document
from repair.newversion import WEIGHTINGS, NewVersionOptions, NewVersionQueries
from repair.settings import RepairSettings
from tests.holdings import SITE, a_collection, a_document, a_link
from tests.make import a_broken_link

LINK = a_broken_link(url=f"{SITE}/earth/old-geysers")
COPY = Document(
    url=LINK.url,
    title="Geysers and hot springs",
    text="Geysers throw hot water. Geysers erupt again and again. Steam drives geysers. Minerals.",
)


@pytest.fixture
def collection(tmp_path):
    made = a_collection(
        tmp_path,
        a_document(
            "/a", links=[a_link("/earth/old-geysers", anchor="spouting wells", before="steam rises from")]
        ),
        a_document("/b", text="Hot water from the tap. " * 5),
        a_document("/c", text="Again and again we drink water. " * 5),
    )
    yield made
    made.close()


def ways(collection, copy=COPY, hints=None, settings=None, **choices):
    made = NewVersionQueries(collection, settings or RepairSettings(), hints)
    return {way.kind: way for way in made.suggestions(LINK, copy, NewVersionOptions(**choices))}


def test_queries_come_in_the_order_that_studies_found_best(collection):
    hints = Hints(collection, RepairSettings())
    hints.tags.attach(LINK.url, "geology")
    assert list(ways(collection, hints=hints)) == ["title", "keywords", "tags", "extended", "address"]


def test_without_a_copy_only_local_queries_are_left(collection):
    found = ways(collection, copy=None)
    assert list(found) == ["extended", "address"]
    assert "geysers" in found["address"].query


def test_a_stop_title_is_doubtful_also_one_of_the_admins(collection):
    assert not ways(collection)["title"].doubtful
    settings = RepairSettings(stop_titles=("Geysers and hot springs",))
    assert ways(collection, settings=settings)["title"].doubtful


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_keywords_come_in_the_wanted_number_most_informative_first(collection, weighting):
    words = ways(collection, terms=3, weighting=weighting)["keywords"].query.split()
    assert len(words) == 3
    assert words[0] == "geysers"


def test_words_around_the_links_are_used_when_configured(collection):
    assert "steam" not in ways(collection)["extended"].query
    assert "steam" in ways(collection, reach=NeighbourhoodLimits(radius=5, terms=10))["extended"].query
