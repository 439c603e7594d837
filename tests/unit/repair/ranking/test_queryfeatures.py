import pytest

from repair.knowntargets import KnownTarget, TargetKind
from repair.model import Evidence
from repair.ranking.queryfeatures import QueryFeatureReader
from repair.text.urlstructure import normalise_name
from repair.text.urlterms import UrlTermCounts, address_terms
from tests.holdings import SITE, a_collection, a_document, a_link
from tests.make import a_broken_link

LOST = SITE + "/wiki/geo/volcano.html"


@pytest.fixture
def school(tmp_path):
    links = [a_link(LOST, "fire mountains", before="hot", after="ash"), a_link(LOST, "click here")]
    others = [a_link(f"/wiki/geo/page{at}.html", "x") for at in range(20)]
    with a_collection(
        tmp_path, a_document("/hub", title="Earth science", links=[*links, *others])
    ) as collection:
        yield collection


def test_every_source_gives_its_own_terms(school):
    link = a_broken_link(
        LOST, source_url=SITE + "/hub2", anchor="volcanoes", before="the hot", after="of Iceland"
    )
    found = QueryFeatureReader(school).read(link)
    assert set(found.terms) == {"anchor", "slug", "dirs", "inlinks", "around", "context"}
    assert set(found.terms["inlinks"]) == {"fire", "mountain"}
    assert found.inlink_count == 1
    assert found.page_names() == (normalise_name("volcanoes"), "volcano", "geovolcano")


def test_a_stop_anchor_is_no_query_feature(school):
    found = QueryFeatureReader(school).read(a_broken_link(LOST, anchor="click here"))
    assert "anchor" not in found.terms
    assert found.anchor_name == ""


def test_links_of_the_source_page_itself_do_not_count_twice(school):
    assert (
        "inlinks" not in QueryFeatureReader(school).read(a_broken_link(LOST, source_url=SITE + "/hub")).terms
    )


def test_words_that_all_addresses_of_a_site_have_weigh_little(school):
    found = QueryFeatureReader(school).read(a_broken_link(LOST))
    assert found.terms["slug"]["volcano"] > 5 * found.terms["dirs"]["geo"]


def test_addresses_that_are_only_linked_to_count(school):
    assert UrlTermCounts(school).of_site(LOST).size > 20


def test_page_name_and_directories_are_separate_features():
    assert address_terms(LOST) == (["volcano"], ["wiki", "geo"])
    assert address_terms("nonsense") == ([], [])


def test_known_moves_are_query_features(school):
    move = KnownTarget(url=SITE + "/new/volcano", kind=TargetKind.MOVE, confidence=0.9, support=3)
    reader = QueryFeatureReader(
        school, known_targets=lambda _: (move,), directories=lambda _: {SITE + "/new/": 0.5}
    )
    found = reader.read(a_broken_link(LOST))
    assert found.known_targets == (move,)
    assert found.directories == {SITE + "/new/": 0.5}


def test_only_copy_and_tags_come_from_evidence(school):
    told = [
        Evidence(source="copy", terms=(("lava", 1.0),), text="Volcanoes of Iceland"),
        Evidence(source="tags", terms=(("geology", 0.5),)),
        Evidence(source="neighbourhood", terms=(("noise", 1.0),)),
    ]
    found = QueryFeatureReader(school).read(a_broken_link(LOST), told)
    assert found.terms["copy"] == {"lava": 1.0}
    assert found.terms["tags"] == {"geology": 0.5}
    assert "volcanoesoficeland" in found.page_names()
    assert not any("noise" in terms for terms in found.terms.values())


def test_compounds_in_a_url_are_split_by_the_collection(tmp_path):
    documents = [a_document(f"/{at}", text="the water cycle") for at in range(5)]
    with a_collection(tmp_path, *documents) as collection:
        found = QueryFeatureReader(collection).read(a_broken_link("http://b.test/watercycle.html"))
    assert set(found.terms["slug"]) == {"watercycl", "water", "cycl"}


def test_a_configured_stop_anchor_is_no_query_feature(school):
    reader = QueryFeatureReader(school, is_stop_anchor=lambda anchor: anchor == "lesson 3")
    assert "anchor" not in reader.read(a_broken_link(LOST, anchor="lesson 3")).terms


@pytest.mark.parametrize(
    ("source_url", "lost"), [(SITE + "/portada", LOST), (None, SITE + "/es/volcanes.html")]
)
def test_stop_words_are_those_of_the_page_of_the_click_or_of_the_address(tmp_path, source_url, lost):
    """Spanish pages lost their stop words, so in a query they would find pages in other languages."""
    with a_collection(tmp_path, a_document("/portada", language="es")) as collection:
        link = a_broken_link(
            lost, source_url=source_url, anchor="los volcanes", before="sobre la lava de los"
        )
        found = QueryFeatureReader(collection).read(link).terms
    assert len(found["anchor"]) == 1
    assert set(found["context"]) == {"lava"}


def test_the_language_is_that_of_the_page_of_the_click(tmp_path):
    text = "El agua de los ríos corre hacia el mar y se evapora con el calor del sol. " * 3
    documents = [a_document("/zh", language="zh-TW"), a_document("/es", text=text, language="")]
    with a_collection(tmp_path, *documents) as collection:
        reader = QueryFeatureReader(collection)
        languages = [
            reader.read(a_broken_link(LOST, source_url=source)).language
            for source in (SITE + "/zh", SITE + "/es", SITE + "/unknown", None)
        ]
    assert languages == ["zh", "es", "", ""]
