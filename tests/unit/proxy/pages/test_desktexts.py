import re
from datetime import date

import polib
import pytest
from markupsafe import Markup

from proxy.pages.deskmessages import TEMPLATE, collect_messages
from proxy.pages.desktexts import FOLDER, desk_language, shown, speaking, tr
from proxy.pages.language import ENGLISH, LANGUAGES
from proxy.pages.templatetexts import messages_of

OTHERS = [code for code in LANGUAGES if code != ENGLISH]
HOLES = re.compile(r"\{\w+\}|</?[a-z]+\d*>")


def test_the_template_for_translators_has_the_texts_of_the_source():
    assert [entry.msgid for entry in polib.pofile(TEMPLATE)] == list(collect_messages())


@pytest.mark.parametrize("code", OTHERS)
def test_every_text_of_the_desk_is_translated_and_no_translation_is_stale(code):
    wanted = set(collect_messages())
    found = {entry.msgid for entry in polib.pofile(FOLDER / f"{code}.po") if entry.translated()}
    assert (sorted(wanted - found), sorted(found - wanted)) == ([], [])


@pytest.mark.parametrize("code", OTHERS)
def test_a_translation_has_the_values_and_links_of_the_english_text(code):
    differing = [
        text
        for text, translation in desk_language(code).texts.items()
        if sorted(HOLES.findall(text)) != sorted(HOLES.findall(translation))
    ]
    assert differing == []


@pytest.mark.parametrize("code", OTHERS)
def test_a_translation_of_the_desk_is_not_the_english_text(code):
    same = [text for text, put in desk_language(code).texts.items() if text == put and len(text) > 30]
    assert same == []


@pytest.mark.parametrize(
    ("source", "messages"),
    [
        ("<p>One <a href='{{ x }}'>link</a>.</p>", ["One <a>link</a>."]),
        ("<p>{{ size(held.bytes) }} of {{ most }}</p>", ["{bytes} of {most}"]),
        ("<li><a href='/'>Only a link</a></li>", ["Only a link"]),
        ("<p>Run <code>linkmend grow</code> now</p>", ["Run {code} now"]),
        ("<p>{% if x %}Yes{% else %}No{% endif %}</p>", ["Yes", "No"]),
        ('<b aria-label="Remove {{ each.name }}">{{ x }}</b>', ["Remove {name}"]),
        ('<input placeholder="https://" translate="no">', []),
        ('{{ _("Found") if found else 3 }}', ["Found"]),
        ("<p>{{ value }} · {{ other }}</p>", []),
    ],
)
def test_messages_are_sentences_with_their_values_and_links(source, messages):
    assert messages_of(source) == messages


def test_a_text_is_english_for_programs_and_translated_on_pages():
    text = tr("Added: {name}.", name="<b>")
    assert text == "Added: <b>."
    with speaking(desk_language("fr")):
        assert shown(text) == Markup("Ajouté : &lt;b&gt;.")


def test_a_day_is_written_as_people_write_it():
    text = tr("{day} {time}", day=date(2026, 5, 3), time="12:00")
    assert text == "3 May 2026 12:00"
    with speaking(desk_language("es")):
        assert shown(text) == "3 de mayo de 2026 12:00"


def test_values_in_a_text_from_right_to_left_keep_their_direction():
    with speaking(desk_language("ar")):
        assert "\u20663\u2069" in str(shown(tr("{count} times", count=3)))
