"""The texts of the desk in the reader's language.

The English text is written where it is used: in the templates as plain HTML, which `templatetexts` translates, and in
Python as `tr("Wrong name or password.")`. What `tr` returns is an English `str`: logs, terminal and API stay
English. Only a page of the desk shows it in the language of its reader. Translations are gettext's, in locales/desk/.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import date
from functools import cache, lru_cache
from pathlib import Path

import polib
from markupsafe import Markup, escape

from proxy.pages.language import ENGLISH, LANGUAGES, Catalogue, catalogue, choose

FOLDER = Path(__file__).parent / "locales" / "desk"
COOKIE = "linkmend-language"
_HOLE = re.compile(r"(\{\w+\}|</?[a-z]+\d*>)")
_OPEN, _CLOSE = "\u2066", "\u2069"  # isolates a number or a name from the direction of the text around it


@dataclass(frozen=True, slots=True, kw_only=True)
class DeskLanguage:
    """One language of the desk: that of the other pages, and the translations by English text."""

    pages: Catalogue
    texts: Mapping[str, str]


class DeskText(str):
    """A text in English that knows how to be shown in another language."""

    __slots__ = ("message", "values")
    message: str
    values: Mapping[str, object]

    def __deepcopy__(self, _: object) -> "DeskText":
        return self  # a value that never changes


def tr(message: str, **values: object) -> DeskText:
    """A fixed text with values in its {placeholders}; the literal is what translators see.

    >>> tr("{count} tries", count=3)
    '3 tries'
    """
    made = DeskText(message.format(**{name: _english(value) for name, value in values.items()}))
    made.message, made.values = message, values
    return made


def _english(value: object) -> object:
    return catalogue(ENGLISH).date(value) if isinstance(value, date) else value


@cache
def desk_language(code: str) -> DeskLanguage:
    """One of LANGUAGES, read once; what a language lacks is shown in English."""
    if code == ENGLISH:
        return DeskLanguage(pages=catalogue(ENGLISH), texts={})
    entries = polib.pofile(FOLDER / f"{code}.po")
    return DeskLanguage(
        pages=catalogue(code), texts={each.msgid: each.msgstr for each in entries if each.translated()}
    )


def choose_language(kept: str | None, accept_language: str | None) -> DeskLanguage:
    """The language that somebody has chosen at the desk, else what their browser asks for."""
    return desk_language(kept if kept in LANGUAGES else choose(accept_language).code)


_current: ContextVar[DeskLanguage | None] = ContextVar("desk language", default=None)


@contextmanager
def speaking(language: DeskLanguage) -> Iterator[None]:
    """What is rendered within is in this language."""
    before = _current.set(language)
    try:
        yield
    finally:
        _current.reset(before)


def current_language() -> DeskLanguage:
    return _current.get() or desk_language(ENGLISH)


def shown(value: object) -> object:
    """A value as a page shows it: fixed texts and days in the current language, all else unchanged."""
    if isinstance(value, DeskText):
        return translated(value.message, value.values)
    return current_language().pages.date(value) if isinstance(value, date) else value


def translated(message: str, values: Mapping[str, object]) -> Markup:
    """A message as HTML. Values that are Markup, tags among them, are inserted as they are, others are escaped."""
    language = current_language()
    parts = _pieces(language.texts.get(message, message))
    rtl = language.pages.direction == "rtl"
    return Markup("").join(
        _value(
            values[piece.strip("{}")] if piece[0] == "{" else values[piece], isolate=rtl and piece[0] == "{"
        )
        if is_hole
        else escape(piece)
        for is_hole, piece in parts
        if is_hole or piece
    )


def _value(value: object, *, isolate: bool) -> Markup:
    """In a text from right to left, plain values are isolated, so that 3 / 5 does not become 5 / 3."""
    made = shown(value)
    if isolate and not isinstance(made, Markup):
        made = f"{_OPEN}{made}{_CLOSE}"
    return escape(made)


@lru_cache(maxsize=4_096)
def _pieces(message: str) -> tuple[tuple[bool, str], ...]:
    """Holes and the literal text between them."""
    return tuple((place % 2 == 1, piece) for place, piece in enumerate(_HOLE.split(message)))
