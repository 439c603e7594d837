import re
import time
from datetime import UTC, datetime
from pathlib import Path

import polib
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

import proxy.pages.language
from proxy.pages.language import ENGLISH, LANGUAGES, catalogue, choose
from repair.model import MissKind

LOCALES = Path(proxy.pages.language.__file__).parent / "locales"
OTHERS = tuple(code for code in LANGUAGES if code != ENGLISH)


def placeholders(text):
    return sorted(re.findall(r"\{(\w*)\}", text))


@pytest.mark.parametrize(
    ("header", "code"),
    [
        ("es", "es"),
        ("pt-BR,pt;q=0.9,en;q=0.8", "pt"),
        ("de-DE,de;q=0.9,fr;q=0.4,en;q=0.3", "fr"),
        ("en;q=0.2, sw;q=0.9", "sw"),
        ("AR-EG", "ar"),
        ("zh-Hant-TW, hi;q=0.001", "hi"),
        ("fr;q=0, es;q=0.1", "es"),
        ("fr;q=0", "en"),
        ("*", "en"),
        ("", "en"),
        (None, "en"),
        ("fr;q=banana", "en"),
        ("es, fr", "es"),
    ],
)
def test_user_gets_the_preferred_language(header, code):
    assert choose(header).code == code


@given(st.text())
def test_any_header_gives_one_of_our_languages(header):
    assert choose(header).code in LANGUAGES


def test_a_hostile_header_takes_no_time():
    begun = time.thread_time()
    for hostile in ("es;q=" + "0" * 200_000, "a-" * 200_000, "," * 500_000, " " * 500_000):
        choose(hostile)
    assert time.thread_time() - begun < 0.5


@pytest.mark.parametrize("code", OTHERS)
def test_every_text_is_translated_and_no_translation_is_stale(code):
    wanted = {entry.msgctxt: entry.msgid for entry in polib.pofile(LOCALES / "linkmend.pot")}
    found = {
        entry.msgctxt: entry.msgid for entry in polib.pofile(LOCALES / f"{code}.po") if entry.translated()
    }
    assert sorted(wanted.keys() - found.keys()) == []  # missing, or marked as fuzzy
    assert sorted(found.keys() - wanted.keys()) == []  # no longer used
    assert [key for key in wanted if found[key] != wanted[key]] == []  # of an older English text


def test_a_missing_or_stale_translation_is_shown_in_english(tmp_path, monkeypatch):
    for file in LOCALES.glob("*.po*"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    spanish = polib.pofile(tmp_path / "es.po")
    for entry in spanish:
        if entry.msgctxt == "page.best":
            entry.msgid = "An older text"
        if entry.msgctxt == "page.again":
            entry.msgstr = ""
    spanish.save()
    monkeypatch.setattr(proxy.pages.language, "_FOLDER", tmp_path)
    catalogue.cache_clear()
    try:
        english, texts = catalogue(ENGLISH).texts, catalogue("es").texts
    finally:
        catalogue.cache_clear()
    assert [texts[key] == english[key] for key in ("page.best", "page.again", "page.found")] == [
        True,
        True,
        False,
    ]


@pytest.mark.parametrize("code", OTHERS)
def test_a_translation_has_the_placeholders_of_english(code):
    english = catalogue(ENGLISH).texts
    translated = catalogue(code).texts
    differing = [key for key in english if placeholders(english[key]) != placeholders(translated[key])]
    assert differing == []


@pytest.mark.parametrize("code", OTHERS)
def test_a_translation_is_not_the_english_text(code):
    english = catalogue(ENGLISH).texts
    same = [key for key, text in catalogue(code).texts.items() if text == english[key] and len(text) > 20]
    assert same == []


@pytest.mark.parametrize("code", LANGUAGES)
def test_every_kind_of_miss_is_put_in_words(code):
    texts = catalogue(code)
    for kind in MissKind:
        assert texts(f"kind.{kind}.heading")
        assert "school.test" in texts(f"kind.{kind}.happened", site="school.test")
        assert texts(f"kind.{kind}.advice")


@pytest.mark.parametrize(
    ("code", "written"),
    [
        ("en", "3 May 2026"),
        ("es", "3 de mayo de 2026"),
        ("fr", "3 mai 2026"),
        ("pt", "3 de maio de 2026"),
        ("ar", "3 مايو 2026"),
        ("sw", "3 Mei 2026"),
        ("hi", "3 मई 2026"),
    ],
)
def test_a_date_is_written_as_people_write_it(code, written):
    assert catalogue(code).date(datetime(2026, 5, 3, tzinfo=UTC)) == written


def test_every_language_has_twelve_months():
    assert {len(set(catalogue(code).months)) for code in LANGUAGES} == {12}


def test_values_in_a_text_are_escaped_and_markup_is_not():
    texts = catalogue("en")
    assert "&lt;b&gt;" in texts("kind.gone.happened", site="<b>")
    assert "<bdi>a</bdi>" in texts("kind.gone.happened", site=Markup("<bdi>a</bdi>"))


def test_braces_in_a_value_are_only_braces():
    assert "{0.__class__}" in catalogue("en")("search.results", query="{0.__class__}")


def test_only_arabic_is_written_from_right_to_left():
    assert [code for code in LANGUAGES if catalogue(code).direction == "rtl"] == ["ar"]
