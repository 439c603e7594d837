import threading
from datetime import timedelta

import pytest

from repair.collection.collection import Collection, PageAddition
from repair.errors import CollectionError
from repair.model import HeldCopy
from repair.settings import CollectionSettings
from tests.holdings import SITE, a_collection, a_document, a_link, found
from tests.make import A_MOMENT


def a_copy(url=f"{SITE}/page", body=b"<p>hello"):
    return HeldCopy(url=url, content_type="text/html", body=body, fetched_at=A_MOMENT.replace(hour=0))


def test_a_page_is_saved_under_its_normal_url(tmp_path):
    with a_collection(tmp_path, a_document("HTTP://School.test:80/a/../page#top")) as collection:
        assert collection.holds(f"{SITE}/page")
        assert collection.get("http://SCHOOL.test/page").url == f"{SITE}/page"


@pytest.mark.parametrize(
    "url", ["", "ftp://school.test/x", "about:blank", "http://", "http://[bad", "javascript:alert(1)"]
)
def test_a_page_without_a_web_url_is_skipped_without_an_error(tmp_path, url):
    with a_collection(tmp_path) as collection:
        assert not collection.add(a_document(f"{url}", title="x"), fetched_at=A_MOMENT) or url == ""
        assert not collection.holds(url)
        assert collection.get(url) is None
        assert collection.copy(url) is None
        assert not collection.remove(url)
        assert collection.inlinks(url) == ()
        assert collection.link_between(url, url) is None


def test_a_removed_page_is_gone_from_pages_links_and_index_at_once(tmp_path):
    rome = a_document("/rome", title="Rome", links=[a_link("/gaul", "Gaul")])
    with a_collection(tmp_path, rome) as collection:
        assert collection.remove(f"{SITE}/rome")
        assert found(collection, "rome") == []
        assert collection.get(f"{SITE}/rome") is None
        assert collection.inlinks(f"{SITE}/gaul") == ()
        assert not collection.remove(f"{SITE}/rome")
        collection.commit()
        assert collection.stats().indexed == 0


def test_links_to_a_removed_page_stay(tmp_path):
    with a_collection(
        tmp_path, a_document("/x"), a_document("/a", links=[a_link("/x", "the x")])
    ) as collection:
        collection.remove(f"{SITE}/x")
        assert [inlink.link.anchor for inlink in collection.inlinks(f"{SITE}/x")] == ["the x"]


def test_copies_are_kept_unless_the_settings_say_otherwise(tmp_path):
    for keep in (True, False):
        with a_collection(tmp_path / str(keep), keep_copies=keep) as collection:
            collection.add(a_document(), fetched_at=A_MOMENT, copy=a_copy())
            assert collection.copy(f"{SITE}/page") == (a_copy() if keep else None)


def test_beyond_the_limit_least_recently_seen_pages_are_dropped_but_never_pinned_ones(tmp_path):
    with a_collection(tmp_path, max_pages=3) as collection:
        for day in range(6):
            moment = A_MOMENT + timedelta(days=day)
            collection.add(a_document(f"/{day}", title="Rome"), fetched_at=moment, pinned=day == 0)
        collection.commit()
        assert sorted(found(collection, "rome")) == ["/0", "/4", "/5"]
        assert collection.stats().pages == collection.stats().indexed == 3


def test_links_beyond_the_limit_are_ignored(tmp_path):
    with a_collection(
        tmp_path, a_document("/a", links=[a_link(f"/{n}") for n in range(9)]), max_links=4
    ) as collection:
        assert len(collection.outlinks(f"{SITE}/a")) == 4


def test_links_without_a_web_url_are_dropped(tmp_path):
    links = [a_link("mailto://x"), a_link("http://school.test:99999/"), a_link("/b")]
    with a_collection(tmp_path, a_document("/a", links=links)) as collection:
        assert [link.target_url for link in collection.outlinks(f"{SITE}/a")] == [f"{SITE}/b"]


def test_broken_characters_do_not_keep_a_page_out(tmp_path):
    odd = "half \ud800 pair \x00 nul"
    document = a_document(
        "/odd", title=odd, text=f"rome {odd}", headings=(odd,), keywords=(odd,), links=[a_link("/b", odd)]
    )
    with a_collection(tmp_path, document) as collection:
        assert found(collection, "rome") == ["/odd"]
        assert "\ud800" not in collection.get(f"{SITE}/odd").text


def test_add_many_is_all_or_nothing(tmp_path):
    def additions():
        yield PageAddition(document=a_document("/a"), fetched_at=A_MOMENT)
        raise ZeroDivisionError

    with a_collection(tmp_path) as collection:
        with pytest.raises(ZeroDivisionError):
            collection.add_many(additions())
        assert not collection.holds(f"{SITE}/a")


def test_threads_may_add_search_and_remove_at_the_same_time(tmp_path):
    errors = []

    def work(collection, name):
        try:
            for number in range(15):
                collection.add(a_document(f"/{name}/{number}", title="Rome"), fetched_at=A_MOMENT)
                found(collection, "rome")
                if number % 5 == 0:
                    collection.remove(f"{SITE}/{name}/{number}")
                    collection.index_some()
        except Exception as error:  # noqa: BLE001
            errors.append(error)

    with a_collection(tmp_path) as collection:
        threads = [threading.Thread(target=work, args=(collection, name)) for name in "abcd"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        collection.commit()
        assert errors == []
        assert collection.stats().pages == collection.stats().indexed == 4 * 12


def test_a_folder_that_cannot_be_made_is_an_error_that_names_it(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(CollectionError, match="file"):
        Collection.open(tmp_path / "file" / "collection", CollectionSettings())


def test_a_page_seen_again_with_the_same_bytes_is_recognised(tmp_path):
    with a_collection(tmp_path) as collection:
        collection.add(a_document(), fetched_at=A_MOMENT, raw_digest=b"bytes")
        assert collection.seen_again(f"{SITE}/page", b"bytes", seen_at=A_MOMENT)
        assert not collection.seen_again(f"{SITE}/page", b"other", seen_at=A_MOMENT)


def test_a_damaged_database_is_set_aside_and_replaced_by_an_empty_one(tmp_path):
    a_collection(tmp_path, a_document("/page")).close()
    (tmp_path / "collection.sqlite3").write_bytes(b"garbage" * 1000)
    collection = a_collection(tmp_path, a_document("/new"))
    assert collection.holds(f"{SITE}/new")
    assert (tmp_path / "collection.sqlite3.damaged1").read_bytes().startswith(b"garbage")
    collection.close()
