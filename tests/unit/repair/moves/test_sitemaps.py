"""Moves between two versions of a sitemap."""

import pytest

from repair.collection.database import Database
from repair.evidence.hints import Hints
from repair.moves import sitemaps
from repair.moves.sitemaps import SitemapStore, addresses_within, renamed_addresses
from repair.settings import RepairSettings
from tests.holdings import SITE, a_collection, a_document
from tests.make import a_broken_link

URL = f"{SITE}/sitemap.xml"


def moved(before, after):
    moves = renamed_addresses([SITE + path for path in before], [SITE + path for path in after])
    return [(move.old.removeprefix(SITE), move.new.removeprefix(SITE)) for move in moves]


def test_a_sitemap_speaks_only_for_its_own_host_and_directory():
    listed = (f"{SITE}/mine/a", f"{SITE}/theirs/a", "http://other.test/mine/a", f"{SITE}/minetoo/a")
    assert addresses_within(f"{SITE}/mine/sitemap.xml", listed) == {f"{SITE}/mine/a"}


def test_huge_sitemaps_and_addresses_are_cut_short(monkeypatch):
    monkeypatch.setattr(sitemaps, "_MAX_ADDRESSES", 3)
    assert len(addresses_within(URL, (f"{SITE}/{number}" for number in range(9)))) == 3
    assert addresses_within(URL, [f"{SITE}/{'a' * 2_000}"]) == frozenset()


def test_a_page_that_appears_under_the_same_name_has_moved():
    before, after = ("/old/RainWater.html", "/snowflakes"), ("/new/rainwater", "/snowflakes")
    assert moved(before, after) == [("/old/RainWater.html", "/new/rainwater")]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (("/old/rainwater",), ("/new/hailstones",)),
        (("/old/rainwater", "/older/rainwater"), ("/new/rainwater",)),
        (("/old/rainwater",), ("/new/rainwater", "/newer/rainwater")),
        (("/old/rainwater", "/kept/rainwater"), ("/new/rainwater", "/kept/rainwater")),
        (("/old/frost",), ("/new/frost",)),
        (("/old/rainwater",), ("/old/rainwater", "/new/rainwater")),
    ],
    ids=["another name", "two vanished", "two appeared", "a common name", "a short name", "not vanished"],
)
def test_doubtful_names_tell_nothing(before, after):
    assert moved(before, after) == []


def test_translations_may_share_a_name():
    before, after = ("/en/rainwater", "/de/rainwater"), ("/en/climate/rainwater", "/de/rainwater")
    assert moved(before, after) == [("/en/rainwater", "/en/climate/rainwater")]


def test_a_page_does_not_change_its_language():
    assert moved(("/en/rainwater", "/de/frost"), ("/de/rainwater", "/de/frost", "/en/hail")) == []


def test_short_and_common_names_count_where_three_pages_changed_alike():
    names = ("frost", "hail", "snow")
    kept = tuple(f"/archive/{name}" for name in names)
    before, after = (tuple(f"/{place}/{name}" for name in names) + kept for place in ("old", "new"))
    assert moved(before, after) == [(f"/old/{name}", f"/new/{name}") for name in names]
    assert moved(before[1:], after[1:]) == []


def test_a_language_is_renamed_when_all_of_its_pages_are():
    names = ("frost", "hail", "snow")
    before, after = (tuple(f"/{language}/{name}" for name in names) for language in ("ua", "uk"))
    assert moved(before, after) == [(f"/ua/{name}", f"/uk/{name}") for name in names]
    assert moved((*before, "/ua/dew"), (*after, "/ua/dew")) == []


def test_the_latest_sitemaps_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(sitemaps, "_MAX_SITEMAPS", 2)
    database = Database(tmp_path / "collection.sqlite3")
    store = SitemapStore(database)
    for name in "abc":
        assert store.replace(f"{SITE}/{name}", {f"{SITE}/{name}1"}) == ()
    assert store.replace(f"{SITE}/c", ()) == (f"{SITE}/c1",)
    assert store.replace(f"{SITE}/a", ()) == ()
    database.close()


def test_moves_of_a_sitemap_teach_where_other_pages_went(tmp_path):
    pages = [a_document(f"/new/{name}", title=name) for name in ("rainwater", "snowflakes")]
    with a_collection(tmp_path, *pages) as collection:
        hints = Hints(collection, RepairSettings())
        assert hints.note_sitemap(URL, [f"{SITE}/old/rainwater"]) == 0
        assert hints.note_sitemap(URL, []) == 0
        assert hints.note_sitemap(URL, [f"{SITE}/new/rainwater"]) == 1
        for name in ("rainwater", "snowflakes"):
            targets = hints.known_targets(a_broken_link(f"{SITE}/old/{name}"))
            assert [target.url for target in targets] == [f"{SITE}/new/{name}"]
