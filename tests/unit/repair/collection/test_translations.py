"""Which saved pages are known as translations of one another."""

from dataclasses import replace

import pytest

from repair.collection import translations as saved
from repair.model import Translation
from tests.holdings import SITE, a_collection, a_document
from tests.make import A_MOMENT


def a_page_in(language, path, *declared):
    page = a_document(path, title=path, text=f"{path} text")
    found = tuple(Translation(language=code, url=f"{SITE}{other}") for code, other in declared)
    return replace(page, language=language, translations=found)


def translations(collection, path):
    page = collection.page_number(f"{SITE}{path}")
    (summary,) = collection.page_summaries([page]).values()
    return {each.language: each.url.removeprefix(SITE) for each in collection.translations(summary)}


@pytest.fixture
def collection(tmp_path):
    pages = (
        a_page_in("en", "/water/rain"),
        a_page_in("de", "/de/water/rain"),
        a_page_in("fr", "/fr/water/rain"),
        a_page_in("de", "/de/water/snow"),
        a_page_in("en", "/sun", ("es", "/el-sol"), ("pt", "/never-saved")),
        a_page_in("es", "/el-sol"),
    )
    with a_collection(tmp_path, *pages) as collection:
        yield collection


def test_pages_at_parallel_addresses_are_translations_of_each_other(collection):
    assert translations(collection, "/water/rain") == {"de": "/de/water/rain", "fr": "/fr/water/rain"}
    assert translations(collection, "/de/water/rain") == {"en": "/water/rain", "fr": "/fr/water/rain"}


def test_a_page_without_a_saved_translation_has_none(collection):
    assert translations(collection, "/de/water/snow") == {}


def test_translations_that_a_page_names_count_if_they_are_saved(collection):
    assert translations(collection, "/sun") == {"es": "/el-sol"}


def test_a_page_that_names_itself_or_its_own_language_is_not_its_own_translation(collection):
    collection.add(a_page_in("en", "/moon", ("fr", "/moon"), ("en", "/sun")), fetched_at=A_MOMENT)
    assert translations(collection, "/moon") == {}


def test_a_removed_translation_is_offered_no_more(collection):
    collection.remove(f"{SITE}/de/water/rain")
    collection.remove(f"{SITE}/el-sol")
    assert translations(collection, "/water/rain") == {"fr": "/fr/water/rain"}
    assert translations(collection, "/sun") == {}


def test_a_removed_page_leaves_nothing_behind(collection):
    collection.remove(f"{SITE}/sun")
    collection.remove(f"{SITE}/fr/water/rain")
    with collection.database.read() as connection:
        assert connection.execute("SELECT count(*) FROM translations").fetchone()[0] == 0
        assert connection.execute("SELECT count(*) FROM editions").fetchone()[0] == 2


def test_a_page_read_again_says_what_it_says_now(collection):
    collection.add(a_page_in("en", "/sun", ("fr", "/fr/water/rain")), fetched_at=A_MOMENT)
    assert translations(collection, "/sun") == {"fr": "/fr/water/rain"}


def test_a_page_whose_text_is_in_the_same_language_is_no_translation(collection):
    collection.add(a_page_in("en", "/ja/water/rain"), fetched_at=A_MOMENT)
    assert "ja" not in translations(collection, "/water/rain")


def test_pages_of_other_people_at_one_host_of_pages_are_no_translations(tmp_path):
    pages = (a_page_in("fr", "https://fr.github.io/water"), a_page_in("de", "https://de.github.io/water"))
    with a_collection(tmp_path, *pages) as collection:
        (summary,) = collection.page_summaries(
            [collection.page_number("https://fr.github.io/water")]
        ).values()
        assert collection.translations(summary) == ()


def test_of_thousands_of_parallel_pages_only_some_are_read(collection, monkeypatch):
    monkeypatch.setattr(saved, "_MOST_PARALLEL", 1)
    assert len(translations(collection, "/water/rain")) == 1
