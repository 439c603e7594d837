"""repair.soft404.phrases: what pages say of themselves, in many languages."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repair.soft404.phrases import Phrases, languages, shipped
from repair.words import tokens


def found(text):
    return shipped().found(tokens(text))


@pytest.mark.parametrize(
    "text",
    [
        "Page not found",
        "The page you requested could not be found.",
        "PÁGINA NO ENCONTRADA",
        "La page que vous avez demandée est introuvable",
        "Die angeforderte Seite konnte nicht gefunden werden.",
        "Запрашиваемая страница не найдена",
        "お探しのページが見つかりませんでした",
        "抱歉，您访问的页面不存在",
        "الصفحة غير موجودة",
        "पृष्ठ नहीं मिला",
        "Ukurasa haujapatikana",
        "Cannot GET /lessons/rivers",
    ],
)
def test_a_missing_page_says_so_in_its_own_language(text):
    assert "not_found" in found(text)


def test_every_language_of_the_list_is_recognised():
    listed = languages()["not_found"]
    assert len(listed) >= 89
    for language, phrases in listed.items():
        for phrase in phrases:
            assert "not_found" in found(phrase.replace("…", "here and there")), (language, phrase)


def test_a_gap_has_its_limits():
    phrases = Phrases({"lost": ["page … lost"]})
    assert phrases.found(tokens("this page is lost")) == {"lost"}
    assert not phrases.found(tokens("this page " + "and more " * 5 + "lost"))
    assert not phrases.found(tokens("lost page"))


@pytest.mark.parametrize(
    "text", ["Welcome to our school", "We found a page of his diary", "The exhibition is lovely"]
)
def test_other_text_says_nothing_of_the_kind(text):
    assert "not_found" not in found(text)


@given(st.lists(st.sampled_from(["page", "not", "found", "the", "404", "url", "x"]), max_size=60))
def test_any_row_of_words_can_be_asked(words):
    assert shipped().found(words) <= set(languages())


def test_time_grows_with_the_length_of_the_text_only():
    words = ["page", "page", "could", "not"] * 5_000
    started = time.thread_time()
    shipped().found(words)
    assert time.thread_time() - started < 5.0
