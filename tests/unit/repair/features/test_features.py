import numpy as np
import pytest

from repair.ranking.candidates import RetrievalTrace
from repair.ranking.features import FEATURES, RAW, complete_features, features
from repair.ranking.queryfeatures import QueryFeatureReader
from tests.holdings import SITE, a_collection, a_document, a_link
from tests.make import a_broken_link

LOST = SITE + "/old/volcano.html"


@pytest.fixture
def school(tmp_path):
    documents = [
        a_document("/new/volcano", title="Volcano", text="Lava comes out of a volcano. " * 5),
        a_document("/new/river", title="River", text="Water flows in a river. " * 5),
        a_document("/hub", title="Hub", links=[a_link(LOST, "Volcano"), a_link("/new/river", "the river")]),
    ]
    with a_collection(tmp_path, *documents) as collection:
        yield collection


def found_once(pages):
    return {page.page: RetrievalTrace(1.0, 1) for page in pages}


def matrix(collection, **known):
    query_features = QueryFeatureReader(
        collection, compare_addresses=known.pop("compare_addresses", True)
    ).read(a_broken_link(LOST, **known))
    pages = sorted(collection.page_summaries(collection.numbers()).values(), key=lambda page: page.url)
    rows = features(collection, query_features, pages, found_once(pages))
    return {
        page.url.removeprefix(SITE): dict(zip(FEATURES, row, strict=True))
        for page, row in zip(pages, rows, strict=True)
    }


def test_there_is_a_number_for_every_name_and_all_are_finite(school):
    query_features = QueryFeatureReader(school).read(a_broken_link(LOST))
    pages = list(school.page_summaries(school.numbers()).values())
    rows = features(school, query_features, pages, found_once(pages))
    assert rows.shape == (3, len(FEATURES)) == (3, len(set(FEATURES)))
    assert np.isfinite(rows).all()


def test_the_page_that_is_named_has_the_features_of_it(school):
    found = matrix(school, anchor="Volcano")
    right, wrong = found["/new/volcano"], found["/new/river"]
    for name in (
        "anchor.title",
        "anchor=title",
        "slug.title",
        "slug=title",
        "names=title",
        "address.same_slug",
    ):
        assert right[name] > wrong[name], name
    assert right["anchor.body/best"] == 1
    assert wrong["anchor.body/best"] == 0


def test_a_link_to_the_lost_url_is_a_feature(school):
    found = matrix(school)
    assert found["/hub"]["links_here"] == 1
    assert found["/new/river"]["links_here"] == 0


def test_cocitation_with_the_lost_page_is_a_feature(school):
    assert matrix(school)["/new/river"]["links_both"] == 1
    assert matrix(school)["/new/volcano"]["links_both"] == 0


def test_cocitation_is_used_only_where_allowed(school):
    """While the page stands at its own address, it would be the only one that nobody links to beside it."""
    assert not any(row["links_both"] for row in matrix(school, compare_addresses=False).values())


def test_a_page_is_like_the_pages_that_link_to_the_lost_one(tmp_path):
    documents = [
        a_document("/near", title="A", text="magma chamber pressure eruption " * 9),
        a_document("/far", title="B", text="knights besiege the castle moat " * 9),
        a_document(
            "/hub",
            title="Hub",
            text="magma and eruption of a chamber " * 9,
            links=[a_link(LOST, "fire mountain")],
        ),
    ]
    with a_collection(tmp_path, *documents) as collection:
        found = matrix(collection)
    assert found["/near"]["company.backlinks"] > found["/far"]["company.backlinks"] + 0.2


def test_addresses_are_compared_only_where_that_is_allowed(school):
    found = matrix(school, compare_addresses=False)
    assert not any(row[name] for row in found.values() for name in FEATURES if name.startswith("address."))


def test_no_pages_have_no_rows(school):
    assert features(school, QueryFeatureReader(school).read(a_broken_link(LOST)), [], {}).shape == (
        0,
        len(FEATURES),
    )


def test_taking_a_candidate_away_leaves_no_hole(school):
    """The trap: whoever is best among those left must look like a best one."""
    rows = np.random.default_rng(0).random((5, len(RAW))).astype(np.float32)
    left = complete_features(rows[1:], (0, 1, 1, 0))
    best = left[:, FEATURES.index("anchor.title/best")]
    assert (best.min(), best.max()) == (0, 1)


def test_links_near_the_lost_page_show_where_a_candidate_belongs(tmp_path):
    documents = [
        a_document(
            "/moved/1", title="Volcano", links=[a_link("/es/old/lava", "x"), a_link("/es/new/ash", "x")]
        ),
        a_document(
            "/moved/2", title="Volcano", links=[a_link("/en/old/lava", "x"), a_link("/en/new/ash", "x")]
        ),
        a_document("/moved/3", title="Volcano", links=[a_link("http://other.test/", "x")]),
    ]
    with a_collection(tmp_path, *documents) as collection:
        query_features = QueryFeatureReader(collection).read(a_broken_link(SITE + "/es/old/volcano"))
        pages = sorted(collection.page_summaries(collection.numbers()).values(), key=lambda page: page.url)
        rows = features(collection, query_features, pages, found_once(pages))
    near = rows[:, FEATURES.index("links_near")].tolist()
    assert near[0] > near[1] > near[2] == 0
    assert rows[:, FEATURES.index("links_host")].tolist() == [1, 1, 0]
    assert rows[:, FEATURES.index("links_directory")].tolist() == [0.5, 0, 0]
    assert rows[:, FEATURES.index("language.links")].tolist() == [1, -1, 0]
