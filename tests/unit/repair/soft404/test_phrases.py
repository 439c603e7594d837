"""repair.soft404.phrases: phrases of missing pages in many languages."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repair.soft404.phrases import Phrases, languages, shipped_phrases
from repair.text.words import tokens


def families_in(text):
    return shipped_phrases().find(tokens(text))


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
def test_phrases_of_many_languages_are_found(text):
    assert "not_found" in families_in(text)


def test_every_language_of_the_list_is_recognised():
    listed = languages()["not_found"]
    assert len(listed) >= 89
    for language, phrases in listed.items():
        for phrase in phrases:
            assert "not_found" in families_in(phrase.replace("…", "here and there")), (language, phrase)


def test_a_gap_spans_a_limited_number_of_words():
    phrases = Phrases({"lost": ["page … lost"]})
    assert phrases.find(tokens("this page is lost")) == {"lost"}
    assert not phrases.find(tokens("this page " + "and more " * 5 + "lost"))
    assert not phrases.find(tokens("lost page"))


@pytest.mark.parametrize(
    "text", ["Welcome to our school", "We found a page of his diary", "The exhibition is lovely"]
)
def test_other_text_has_no_such_phrase(text):
    assert "not_found" not in families_in(text)


@given(st.lists(st.sampled_from(["page", "not", "found", "the", "404", "url", "x"]), max_size=60))
def test_any_words_can_be_searched(words):
    assert shipped_phrases().find(words) <= set(languages())


def test_search_time_is_linear_in_the_text():
    words = ["page", "page", "could", "not"] * 5_000
    started = time.thread_time()
    shipped_phrases().find(words)
    assert time.thread_time() - started < 5.0
