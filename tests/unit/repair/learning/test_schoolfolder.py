import pytest

from repair.errors import CollectionError, EvaluationFailed
from repair.learning import schoolfolder
from repair.learning.schoolfolder import write
from repair.parse.collectionfolder import collection_folder
from repair.parse.jsonlines import records
from repair.parse.problems import ImportProblems
from tests.holdings import SITE, a_collection, a_document, a_link, found


def documents(count=120):
    """Pages that each link to the next in the text, and in menus to the first and to one that is not saved."""
    return [
        a_document(
            f"/{at}",
            title=f"Title {at}",
            text=f"Words of page {at}.",
            links=(
                a_link(f"/{(at + 1) % count}", f"subject number {at}", before="read of", after="here"),
                a_link("/0", "home", nav=True),
                a_link("/lost", f"a lost page {at}"),
            ),
        )
        for at in range(count)
    ]


@pytest.fixture
def held(tmp_path):
    with a_collection(tmp_path / "collection", *documents()) as collection:
        yield collection


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "folder").mkdir()
    return tmp_path / "folder"


def listed(folder, stem):
    return list(records(folder, stem, needs=("id", "source_url", "target_url", "anchor")))


def test_all_pages_and_links_are_written(held, folder):
    assert write(held.database, folder, limit=600).pages == 120
    problems = ImportProblems()
    found = {document.url: document for document in collection_folder(folder, problems)}
    assert problems.count == 0
    page = found[f"{SITE}/5"]
    assert (page.title, page.text) == ("Title 5", "Words of page 5.")
    assert page.links == held.outlinks(page.url)


def test_links_in_running_text_between_saved_pages_are_broken_once_per_target(held, folder):
    written = write(held.database, folder, limit=600)
    broken = [*listed(folder, "train"), *listed(folder, "test")]
    assert (written.train, written.test) == (len(listed(folder, "train")), len(listed(folder, "test")))
    assert len(broken) == len({each["target_url"] for each in broken}) == 120
    assert len({each["id"] for each in broken}) == 120
    for each in broken:
        assert each["anchor"].startswith("subject number")
        assert (each["context_before"], each["context_after"]) == ("read of", "here")
        assert held.holds(each["target_url"])
    assert 12 <= written.test <= 36


def test_the_choice_is_repeatable_and_validation_links_stay_when_pages_are_added(held, folder, tmp_path):
    write(held.database, folder, limit=110)
    before = {stem: listed(folder, stem) for stem in ("train", "test")}
    assert len(before["train"]) + len(before["test"]) == 110
    write(held.database, folder, limit=110)
    assert {stem: listed(folder, stem) for stem in before} == before
    for document in documents(150)[119:]:
        held.add(document, fetched_at=held.get(f"{SITE}/1").fetched_at)
    write(held.database, folder, limit=600)
    later = {each["target_url"] for each in listed(folder, "train")}
    assert later.isdisjoint(each["target_url"] for each in before["test"])


def test_a_large_collection_is_sampled_but_keeps_the_pages_of_chosen_links(held, folder, monkeypatch):
    monkeypatch.setattr(schoolfolder, "MAX_PAGES", 10)
    monkeypatch.setattr(schoolfolder, "LEAST_LINKS", 5)
    written = write(held.database, folder, limit=20)
    assert 20 <= written.pages <= 50
    pages = {page["url"] for page in records(folder, "pages", needs=("url", "title", "text"))}
    for each in [*listed(folder, "train"), *listed(folder, "test")]:
        assert {each["source_url"], each["target_url"]} <= pages


@pytest.mark.parametrize(
    "link", [{"anchor": "click here"}, {"anchor": "subject", "nav": True}, {"anchor": ""}, {"anchor": "17"}]
)
def test_links_without_telling_anchors_do_not_count(tmp_path, folder, link):
    pages = [
        a_document(f"/{at}", text=f"Words {at}.", links=(a_link(f"/{at + 1}", **link),)) for at in range(120)
    ]
    with (
        a_collection(tmp_path / "c", *pages) as collection,
        pytest.raises(EvaluationFailed, match="at least 100 usable links between saved pages.*found 0"),
    ):
        write(collection.database, folder, limit=600)


def test_duplicate_pages_are_no_targets(tmp_path, folder):
    pages = [
        a_document(f"/{at}", text="The same.", links=(a_link(f"/{(at + 1) % 120}", f"subject of {at}"),))
        for at in range(120)
    ]
    with a_collection(tmp_path / "c", *pages) as collection, pytest.raises(EvaluationFailed, match="found 0"):
        write(collection.database, folder, limit=600)


def test_the_proxy_can_write_and_index_meanwhile(tmp_path, folder):
    place = tmp_path / "c"
    a_collection(place, *documents()).close()
    with schoolfolder.open_database(place) as database, a_collection(place) as proxy:
        with proxy.database.write():
            assert write(database, folder, limit=600).pages == 120
        proxy.add(a_document("/new", title="Aardvark"), fetched_at=proxy.get(f"{SITE}/1").fetched_at)
        proxy.commit()
        assert found(proxy, "aardvark") == ["/new"]


def test_a_missing_database_is_not_created(tmp_path):
    with pytest.raises(CollectionError, match="no saved pages found"), schoolfolder.open_database(tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []
