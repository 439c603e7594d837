import pytest

from repair.errors import EvaluationFailed
from repair.parse.jsonlines import records
from repair.simulation import pseudobroken
from repair.simulation.pseudobroken import BreakagePlan, Variant, cases
from tests.folders import a_folder, a_link_record, lines, url_of


@pytest.fixture
def folder(tmp_path):
    return a_folder(tmp_path / "site")


def opened(folder, tmp_path, variant, split="test"):
    plan = BreakagePlan(folder=folder, variant=Variant(variant), split=split)
    return plan, pseudobroken.collection(plan, tmp_path / "cache")


def test_the_link_under_test_is_not_known(folder, tmp_path):
    plan, collection = opened(folder, tmp_path, "kept")
    with collection:
        for case in cases(plan):
            assert collection.link_between(case.link.source_url, case.link.url) is None
            assert len(collection.inlinks(case.link.url)) == 2


def test_in_moved_every_page_is_at_an_opaque_address_and_no_link_leads_to_one(folder, tmp_path):
    _plan, collection = opened(folder, tmp_path, "moved")
    with collection:
        pages = collection.page_summaries(collection.numbers()).values()
        assert len(pages) == 12
        assert all(page.url.startswith("http://moved.invalid/") for page in pages)
        assert not any(
            collection.holds(link.target_url) for page in pages for link in collection.outlinks(page.url)
        )


def test_in_moved_anchors_to_the_old_url_stay_known(folder, tmp_path):
    plan, collection = opened(folder, tmp_path, "moved")
    with collection:
        case = cases(plan)[0]
        assert collection.holds(case.truth)
        assert not collection.holds(case.link.url)
        assert len(collection.inlinks(case.link.url)) == 2


def test_for_learning_every_page_loses_a_link_not_the_answers_alone(folder, tmp_path):
    _, collection = opened(folder, tmp_path, "kept", split="train")
    with collection:
        assert {len(collection.inlinks(url_of(at))) for at in range(12)} == {2}


def test_renamed_pages_have_new_addresses_and_links_lead_to_old_and_new(folder, tmp_path):
    _, collection = opened(folder, tmp_path, "renamed", split="train")
    with collection:
        assert not any(collection.holds(url_of(at)) for at in range(12))
        pages = collection.page_summaries(collection.numbers()).values()
        leads = {
            collection.holds(link.target_url) for page in pages for link in collection.outlinks(page.url)
        }
        assert leads == {True, False}


def test_a_readdressed_link_leads_to_an_address_that_the_site_gave_up(folder, tmp_path):
    plan, collection = opened(folder, tmp_path, "readdressed", split="train")
    with collection:
        for case in cases(plan):
            assert collection.holds(case.truth)
            assert not collection.holds(case.link.url)
            assert collection.inlinks(case.link.url) == ()
    assert {bool(case.link.anchor) for case in cases(plan)} == {True, False}


def test_moves_of_a_site_that_really_moved_are_known_only_if_wanted(folder, tmp_path):
    pages = list(records(folder, "pages"))
    old = [{**page, "url": page["url"].replace("/wiki/", "/old/")} for page in pages]
    lines(folder, "really_moved_sources", old[:6])
    asked = a_link_record(old[0]["url"], old[7]["url"], "x", id="r0", truth=pages[7]["url"])
    lines(folder, "really_moved", [asked])
    plan, collection = opened(folder, tmp_path, "really-moved")
    with collection:
        for with_moves, count in ((False, 0), (True, 1)):
            moves = pseudobroken.known_moves(plan, collection, with_moves=with_moves)
            assert len(moves.known_targets(old[1]["url"], collection.holds)) == count


def test_neither_source_page_may_be_returned(folder, tmp_path):
    plan, collection = opened(folder, tmp_path, "moved")
    collection.close()
    case = cases(plan)[0]
    assert case.link.source_url in case.hidden


def test_a_collection_is_built_once(folder, tmp_path):
    for _ in range(2):
        opened(folder, tmp_path, "kept")[1].close()
    assert len(list((tmp_path / "cache").iterdir())) == 1


def test_a_folder_that_is_no_collection_is_reported(tmp_path):
    with pytest.raises(EvaluationFailed, match=r"pages.jsonl.gz"):
        opened(tmp_path, tmp_path, "kept")
