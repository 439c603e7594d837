import pytest
from hypothesis import given
from hypothesis import strategies as st

from repair.text import urls
from repair.text.languages import (
    address_language,
    address_variety,
    chinese_variety,
    edition_of,
    is_latin,
    same_language,
    script_agrees,
    script_of,
    without_language,
)


@pytest.mark.parametrize(
    ("url", "language"),
    [
        ("https://help.school.test/7.4/es/text/start.html", "es"),
        ("https://help.school.test/zh-CN/start.html", "zh"),
        ("https://school.test/docs/pt_BR/start", "pt"),
        ("https://school.test/start?id=7&lang=de", "de"),
        ("https://school.test/start?hl=zh-TW", "zh"),
        ("https://fr.school.test/start", "fr"),
        ("https://school.test/rules.ja.html", "ja"),
        ("https://school.test/rules_de.html", "de"),
        ("https://school.test/rules-ru", "ru"),
        ("https://school.test/it/rules", "it"),
        ("https://school.test/ko", "ko"),
        ("https://ua.school.test/start", "uk"),  # by the country
        ("https://school.test/jp/start", "ja"),
    ],
)
def test_an_address_names_its_language(url, language):
    assert address_language(url) == language


@pytest.mark.parametrize(
    "url",
    [
        "https://school.test/start.html",
        "https://school.test/this-is",  # a word, not Icelandic
        "https://school.test/a/b/c/it/rules",  # the department
        "https://school.test/xx/start",
        "https://school.test/parts/jp/start",
        "https://de/start",
        "https://school.test/history/en-garde-and-more/start",
        "not an address",
        "",
    ],
)
def test_an_address_without_a_language_names_none(url):
    assert address_language(url) == ""


def test_region_and_variety_do_not_make_another_language():
    assert {same_language(code) for code in ("zh", "zh-Hant", "zh_TW", "yue")} == {"zh"}
    assert same_language("") == same_language("zxx") == same_language("und") == ""


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("Wasserkreislauf", "latin"),
        ("Круговорот воды, H2O", "cyrillic"),
        ("水循环", "han"),
        ("水の循環", "kana"),
        ("물의 순환", "hangul"),
        ("دورة الماء", "arabic"),
        ("जल चक्र", "devanagari"),
        ("2017 — 3.1", ""),
    ],
)
def test_the_script_is_that_of_most_letters(text, script):
    assert script_of(text) == script


@pytest.mark.parametrize(
    ("text", "language", "value"),
    [
        ("Вода", "ru", 1),
        ("Вода", "es", -1),
        ("Agua", "es", 1),
        ("FORECAST.ETS", "ru", 0),
        ("水", "ja", 1),
        ("水の", "zh", -1),
        ("", "es", 0),
        ("Agua", "", 0),
    ],
)
def test_a_script_agrees_with_a_language_or_contradicts_it(text, language, value):
    assert script_agrees(script_of(text), language) == value


@pytest.mark.parametrize(
    ("url", "edition"),
    [
        ("https://a.test/7.4/es/text/x.html", "https://a.test/7.4/es/"),
        ("https://es.a.test/text/x.html", "https://es.a.test/"),
        ("https://a.test/x?lang=es", ""),
        ("https://a.test/x.es.html", ""),
        ("https://a.test/x", ""),
    ],
)
def test_the_edition_is_the_directory_of_a_language(url, edition):
    assert edition_of(url) == edition


@pytest.mark.parametrize(
    ("text", "variety"), [("版本发布", 1), ("版本發布", -1), ("中文", 0), ("Git", 0), ("", 0), ("发發", 0)]
)
def test_characters_tell_simplified_from_traditional_chinese(text, variety):
    assert chinese_variety(text) == variety


@pytest.mark.parametrize(
    ("url", "variety"),
    [
        ("https://school.test/zh-CN/start", 1),
        ("https://school.test/zh_tw/start", -1),
        ("https://school.test/start?lang=zh-Hant", -1),
        ("https://cn.school.test/start", 1),
        ("https://school.test/zh/start", 0),
        ("https://school.test/twins/start", 0),
    ],
)
def test_addresses_tell_simplified_from_traditional_chinese(url, variety):
    assert address_variety(url) == variety


def test_most_languages_are_written_in_latin_letters():
    assert is_latin("sw")
    assert not is_latin("hi")


@pytest.mark.parametrize(
    ("url", "plain"),
    [
        ("https://help.school.test/ja/a/b.html?q=1", "https://help.school.test/a/b.html?q=1"),
        ("https://help.school.test/7/pt-BR/", "https://help.school.test/7/"),
        ("https://cn.school.test:8080/guide/", "https://school.test:8080/guide/"),
        ("https://school.test/cn/guide/", "https://school.test/guide/"),
        ("https://school.test/rules.ja.html", "https://school.test/rules.html"),
        ("https://school.test/rules_de?x", "https://school.test/rules?x"),
        ("https://school.test/p?lang=de", "https://school.test/p"),
        ("https://school.test/p?x=1&lang=de&y=2", "https://school.test/p?x=1&y=2"),
        ("https://school.test/p?lang=de&y=2", "https://school.test/p?y=2"),
        ("https://school.test/ja", "https://school.test/"),
        ("https://school.test/about.html", ""),
        ("https://fr.github.io/start", ""),  # another person's page than github.io's or de.github.io's
        ("https://fr.co.uk/start", ""),
        (
            f"https://school.test/{494 * 'a'}_de/b/c.html",
            "",
        ),  # nothing is cut from a long path but a language
        ("not a url", ""),
    ],
)
def test_a_url_without_its_language_is_that_of_the_other_editions(url, plain):
    assert without_language(url) == plain


@given(st.text(max_size=60), st.text(max_size=30))
def test_a_url_without_its_language_is_a_url_or_nothing(path, query):
    plain = without_language(f"https://de.school.test/{path}?{query}")
    assert not plain or urls.is_web_url(plain)
