"""Text to terms: the same for pages, anchors, addresses and queries."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repair.text.words import is_stop_anchor, language_of, located_terms, segments, terms, tokens


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The school's H2O, 3.11", ["the", "school", "h2o", "3", "11"]),
        ("snake_case and kebab-case", ["snake", "case", "and", "kebab", "case"]),
        ("l’école", ["l", "ecole"]),
        ("Straße ŒUVRE Øre", ["strasse", "oeuvre", "ore"]),
        ("ＦＵＬＬ ﬁsh", ["full", "fish"]),
        ("हिन्दी पुस्तकालय", ["हिन्दी", "पुस्तकालय"]),
        ("図書館", ["図書", "書館"]),
        ("本", ["本"]),
        ("ABC図書", ["abc", "図書"]),
        ("도서관", ["도서", "서관"]),
        ("co\u00adop\u200ceration", ["cooperation"]),
        ("مُعَلِّم", ["معلم"]),
        ("... !! —", []),
        ("x" * 65, []),
    ],
)
def test_a_text_is_split_into_words(text, expected):
    assert tokens(text) == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("libraries", "library"),
        ("Écoles", "ecole"),
        ("bibliotecas", "biblioteca"),
        ("библиотеки", "библиотека"),
        ("المدرسة", "مدرسة"),
        ("विद्यालयों", "विद्यालय"),
    ],
)
def test_forms_of_a_word_become_one_term(one, other):
    assert terms(one) == terms(other)


@given(st.text(max_size=60), st.sampled_from(["", "en", "fr", "ar", "hi", "sw", "zh", "xx", "pt-BR"]))
def test_a_language_may_drop_words_but_never_changes_one(text, language):
    assert set(terms(text, language)) <= {term for _, _, term in located_terms(text)}


@given(st.text(alphabet="abIL4s\u2019'\u2014 .d\u00b7\u00e9\u672c\u0640", max_size=30))
def test_quotes_and_dashes_of_typographers_change_no_word(text):
    # A letter beyond ASCII has the text read by the general expression, whatever else is in it.
    assert segments(text) == segments(f"{text} \u00e9")[:-1]


def test_stop_words_are_dropped():
    assert terms("the history of the volcano") == ["histori", "volcano"]
    assert terms("l'histoire du volcan", "fr") == ["histoir", "volcan"]


def test_a_title_of_stop_words_keeps_them():
    assert terms("The Who") == ["the", "who"]


@given(st.text(max_size=200), st.sets(st.text(max_size=3), max_size=5))
def test_wanted_terms_are_located_at_the_same_places(text, others):
    wanted = others | {term for _, _, term in list(located_terms(text))[::3]}
    found = [place for place in located_terms(text, wanted) if place[2] in wanted]
    assert found == [place for place in located_terms(text) if place[2] in wanted]


@given(
    st.text("aeils ’'.-1éßñøωя\u0301\u00adİ図𐐀", max_size=60),
    st.sets(st.sampled_from(["a", "ela", "ea", "s"])),
)
def test_wanted_terms_are_located_at_the_same_places_among_letters_beyond_ascii(text, others):
    wanted = others | {term for _, _, term in list(located_terms(text))[::2]}
    found = [place for place in located_terms(text, wanted) if place[2] in wanted]
    assert found == [place for place in located_terms(text) if place[2] in wanted]


def test_wanted_terms_are_located_in_a_text_with_many_letters_beyond_ascii():
    text = "los niños del año " * 300 + "leen aquí"
    wanted = {"nino", "aqui", "leen"}
    found = [place for place in located_terms(text, wanted) if place[2] in wanted]
    assert found == [place for place in located_terms(text) if place[2] in wanted]


@pytest.mark.parametrize(
    "text",
    [
        "Dying fish, a sky of skies: happily lying",
        "It\u2019s hoping, HOPPED \u2013 possibility 2026",
        "under_score tie",
    ],
)
def test_every_word_of_a_text_is_found_by_its_term(text):
    for place in located_terms(text):
        assert place in list(located_terms(text, {place[2]}))


@pytest.mark.parametrize(
    ("text", "wanted", "starts"),
    [
        ("parts of art, Art; arty état art́ (art)", "art", [9, 14, 29, 35]),
        ("it's an s, s's s", "s", [8, 11, 15]),
        ("図書館の図書", "図書", [0, 4]),
        ("school's\u00adkey is key", "key", [8, 16]),
        ("𐐀𐐁 and more", "and", [3]),
    ],
)
def test_a_term_is_found_as_a_word_of_its_own_and_not_within_another(text, wanted, starts):
    found = [start for start, _, term in located_terms(text, {wanted}) if term == wanted]
    assert found == starts


@given(st.text(max_size=200))
def test_any_text_falls_into_lower_case_words_at_their_places(text):
    assert all(word and word == word.lower() for word in tokens(text) if word.isascii())
    assert all(0 <= start < end <= len(text) for start, end, _ in located_terms(text))
    assert all(segment in text for segment in segments(text))


@pytest.mark.parametrize(
    "hostile", ["a" * 1_000_000, "学" * 400_000, "e" + "\u0301" * 1_000_000, "a' " * 300_000]
)
def test_a_huge_text_is_read_in_time_proportional_to_its_size(hostile):
    started = time.thread_time()
    terms(hostile)
    assert time.thread_time() - started < 3


@pytest.mark.parametrize(
    "anchor",
    [
        "",
        "»",
        "[1]",
        "42",
        "Click here!",
        "READ MORE…",
        "leer más",
        "En savoir plus",
        "clique aqui",
        "soma zaidi",
        "اقرأ المزيد",
        "और पढ़ें",
        "weiterlesen",
        "続きを読む",
    ],
)
def test_an_anchor_that_says_nothing_is_a_stop_anchor(anchor):
    assert is_stop_anchor(anchor)


@pytest.mark.parametrize("anchor", ["Volcanoes", "here be dragons", "1984 (novel)", "http://school.test/"])
def test_an_anchor_that_says_something_is_not(anchor):
    assert not is_stop_anchor(anchor)


def test_an_admin_may_add_stop_anchors():
    assert is_stop_anchor("Our Portal »", ("our portal",))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The library is open on Monday and pupils may borrow two books.", "en"),
        ("La bibliothèque est ouverte le lundi et les élèves y viennent.", "fr"),
        ("Shule yetu ina maktaba kubwa na vitabu vingi vya kusoma", "sw"),
        ("हमारे विद्यालय का पुस्तकालय बहुत बड़ा है", "hi"),
        ("hello", ""),
        ("", ""),
    ],
)
def test_the_language_of_a_text_is_guessed_unless_it_is_too_short(text, expected):
    assert language_of(text) == expected
