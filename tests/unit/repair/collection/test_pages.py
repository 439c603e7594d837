import tempfile
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repair.collection.database import Database
from repair.collection.pages import PageStore, content_digest
from repair.model import HeldCopy
from tests.examples import examples
from tests.holdings import SITE, a_document
from tests.make import A_MOMENT

URL = f"{SITE}/page"


@pytest.fixture
def store(tmp_path):
    database = Database(tmp_path / "db")
    yield PageStore(database)
    database.close()


def _put(store, document, *, at=A_MOMENT, **known):
    return store.put(document, fetched_at=at, seen_at=at, **known)


def a_copy(url=URL, body=b"<p>hello"):
    return HeldCopy(url=url, content_type="text/html", body=body, fetched_at=A_MOMENT.replace(hour=0))


def test_a_page_comes_back_as_it_was_saved(store):
    document = a_document(
        "/page",
        headings=("One", "Two"),
        description="about",
        keywords=("k",),
        language="en",
        canonical_url=URL,
    )
    page = _put(store, document)
    assert store.document(page) == document
    held = store.get(URL)
    assert (held.title, held.text, held.fetched_at, held.pinned, held.has_copy) == (
        document.title,
        document.text,
        A_MOMENT.replace(hour=0),
        False,
        False,
    )


def test_a_newer_version_replaces_the_older_under_the_same_number(store):
    first = _put(store, a_document(title="old"))
    assert _put(store, a_document(title="new")) == first
    assert store.get(URL).title == "new"
    assert store.counts() == (1, 0, 0)


def test_a_pinned_page_stays_pinned_when_it_is_harvested_again(store):
    _put(store, a_document(), pinned=True)
    _put(store, a_document(title="seen again"))
    assert store.get(URL).pinned


def test_a_copy_is_kept_and_goes_with_its_page(store):
    page = _put(store, a_document(), copy=a_copy())
    assert store.copy(URL) == a_copy()
    assert store.get(URL).has_copy
    store.remove(page)
    assert store.copy(URL) is None
    assert store.get(URL) is None


def test_a_version_without_a_copy_does_not_keep_that_of_another_version(store):
    _put(store, a_document(), copy=a_copy())
    _put(store, a_document(title="changed"))
    assert store.copy(URL) is None


def test_a_page_seen_again_unchanged_is_only_touched(store):
    _put(store, a_document(), raw_digest=b"same")
    assert store.touch(URL, b"same", seen_at=A_MOMENT + timedelta(days=1))
    assert not store.touch(URL, b"other", seen_at=A_MOMENT)
    assert not store.touch(f"{SITE}/unknown", b"same", seen_at=A_MOMENT)


def test_pages_beyond_the_limit_are_the_harvested_ones_seen_longest_ago(store):
    pages = [
        _put(store, a_document(f"/{day}"), at=A_MOMENT + timedelta(days=day), pinned=day == 0)
        for day in range(5)
    ]
    store.touch(f"{SITE}/1", b"", seen_at=A_MOMENT + timedelta(days=99))
    assert store.beyond(3) == (pages[2], pages[3])
    assert store.beyond(5) == ()
    assert store.beyond(0) == (pages[2], pages[3], pages[4], pages[1])


def test_a_site_beyond_its_share_loses_its_own_pages(store):
    kept = [_put(store, replace(a_document(), url=f"http://{name}.test/"), at=A_MOMENT) for name in "abcd"]
    for number in range(20):  # under one registrable domain
        _put(
            store,
            replace(a_document(), url=f"http://h{number}.evil.test/{number}"),
            at=A_MOMENT + timedelta(days=number),
        )
    dropped = store.beyond(12)
    assert len(dropped) == 12
    assert not set(kept) & set(dropped)
    assert set(kept) & set(store.beyond(4)), "a site has its share all the same"


def test_the_number_of_a_removed_page_is_never_reused(store):
    first = _put(store, a_document("/a"))
    store.remove(first)
    assert _put(store, a_document("/b")) > first


def test_briefs_leave_out_pages_not_saved(store):
    page = _put(store, a_document())
    page_summaries = store.page_summaries([page, page + 1_000])
    assert list(page_summaries) == [page]
    assert page_summaries[page].url == URL


def test_pages_with_the_same_words_have_the_same_digest_whatever_their_spacing():
    one = a_document("/a", title="Water", text="The water  cycle\n")
    other = a_document("/b", title="water", text="the Water cycle")
    assert content_digest(one) == content_digest(other)
    assert content_digest(one) != content_digest(a_document("/a", title="Water", text="the water"))


_STEP = st.tuples(
    st.sampled_from("abc"), st.sampled_from(["put", "remove"]), st.text(max_size=10).filter(str.isprintable)
)


@examples(40)
@given(st.lists(_STEP, max_size=12))
def test_the_store_is_a_dictionary(steps):
    model = {}
    with tempfile.TemporaryDirectory() as folder:
        database = Database(Path(folder) / "db")
        store = PageStore(database)
        for name, deed, title in steps:
            url = f"{SITE}/{name}"
            if deed == "put":
                _put(store, a_document(url, title=title), at=datetime.now(UTC))
                model[url] = title
            elif (page := store.number(url)) is not None:
                store.remove(page)
                del model[url]
        for url in (f"{SITE}/{name}" for name in "abc"):
            held = store.get(url)
            assert (held.title if held else None) == model.get(url)
        assert store.counts()[0] == len(model)
        database.close()


def test_a_page_seen_again_at_once_is_not_written_anew(tmp_path):
    database = Database(tmp_path / "db")
    store = PageStore(database)
    _put(store, a_document(), raw_digest=b"same")
    before = database.version()
    assert store.touch(URL, b"same", seen_at=A_MOMENT + timedelta(minutes=9))
    assert database.version() == before
    assert store.touch(URL, b"same", seen_at=A_MOMENT + timedelta(minutes=10))
    assert database.version() != before
