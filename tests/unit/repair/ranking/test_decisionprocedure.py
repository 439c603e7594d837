"""Figure 8."""

import pytest

from repair.ranking.decisionprocedure import DecisionProcedure
from tests.holdings import SITE, a_collection, a_document
from tests.make import a_broken_link

GONE = "http://lost.invalid/"
RAIN = "rain falls from clouds onto fields and rivers carry water to the sea"
OTHERS = [
    a_document(f"/filler{number}", title=f"Filler {number}", text="of other things") for number in range(60)
]


@pytest.fixture
def collection_of(tmp_path):
    opened = []

    def make(*documents):
        opened.append(a_collection(tmp_path, *documents, *OTHERS))
        return opened[-1]

    yield make
    for collection in opened:
        collection.close()


def paths(found):
    return [each.url.removeprefix(SITE) for each in found]


def test_an_anchor_that_says_little_is_not_tried_without_a_copy(collection_of):
    procedure = DecisionProcedure(collection_of(a_document("/rain", title="Rain", text=RAIN)))
    assert procedure.recommend(a_broken_link(GONE, anchor="rain")) == ()
    assert procedure.recommend(a_broken_link(GONE, anchor="click here")) == ()


def test_with_several_words_pages_are_ranked_by_anchor_and_title(collection_of):
    held = collection_of(
        a_document("/long", title="Rain clouds and many other kinds of weather", text=RAIN),
        a_document("/exact", title="Rain clouds", text=RAIN),
    )
    assert paths(DecisionProcedure(held).recommend(a_broken_link(GONE, anchor="rain clouds")))[:2] == [
        "/exact",
        "/long",
    ]


def test_a_proper_name_suffices_as_anchor(collection_of):
    held = collection_of(a_document("/b", title="Boston", text="Boston is a city"))
    assert paths(DecisionProcedure(held).recommend(a_broken_link(GONE, anchor="Boston"))) == ["/b"]


def test_with_a_copy_pages_are_ranked_by_divergence_from_it(collection_of):
    held = collection_of(
        a_document(GONE, title="Rain clouds", text=RAIN),
        a_document("/title", title="Rain clouds", text="a song by a band"),
        a_document("/moved", title="Weather", text=RAIN + " again"),
    )
    found = paths(DecisionProcedure(held).recommend(a_broken_link(GONE, anchor="rain clouds")))
    assert found[0] == "/moved"
    assert GONE not in found


@pytest.mark.parametrize(("text", "offered"), [(RAIN, ["/new"]), ("rain dances of the plains are old", [])])
def test_an_anchor_that_says_little_needs_a_page_like_the_copy(collection_of, text, offered):
    held = collection_of(
        a_document(GONE, title="Rain", text=RAIN), a_document("/new", title="Rain", text=text)
    )
    assert paths(DecisionProcedure(held).recommend(a_broken_link(GONE, anchor="rain"))) == offered


def test_tags_find_what_anchor_and_address_do_not(collection_of):
    held = collection_of(a_document("/x", title="Precipitation", text="drops"))
    link = a_broken_link(GONE, anchor="falling water")
    assert paths(DecisionProcedure(held).recommend(link)) == []
    assert paths(DecisionProcedure(held, tags=lambda _: ["precipitation"]).recommend(link)) == ["/x"]


def test_the_source_page_is_never_offered(collection_of):
    held = collection_of(a_document("/rain", title="Rain clouds", text=RAIN))
    assert (
        DecisionProcedure(held).recommend(
            a_broken_link(GONE, anchor="rain clouds", source_url=f"{SITE}/rain")
        )
        == ()
    )


def test_confidence_goes_with_the_score(collection_of):
    held = collection_of(
        a_document(GONE, title="Rain clouds", text=RAIN),
        a_document("/same", title="Weather", text=RAIN),
        a_document("/other", title="Rain clouds", text="a song by a band"),
    )
    found = DecisionProcedure(held).recommend(a_broken_link(GONE, anchor="rain clouds"))
    sure = [each.confidence for each in found]
    assert sure == sorted(sure, reverse=True)
    assert all(0 <= each <= 1 for each in sure)
    assert sure[0] > 2 * sure[-1]


def test_configured_stop_anchors_are_not_queried(collection_of):
    held = collection_of(a_document("/rain", title="Rain clouds", text=RAIN))
    link = a_broken_link(GONE, anchor="rain clouds")
    assert paths(DecisionProcedure(held).recommend(link)) == ["/rain"]
    assert DecisionProcedure(held, is_stop_anchor=lambda _: True).recommend(link) == ()
