"""The languages of our pages: catalogues in locales/, and the choice by Accept-Language (RFC 9110 12.5.4).

Catalogues are gettext's: linkmend.pot has the English texts, each other language a .po file. The context of a text
(`msgctxt`) is its key.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from pathlib import Path

import polib
from markupsafe import Markup, escape

ENGLISH = "en"
LANGUAGES = ("en", "es", "fr", "pt", "ar", "sw", "hi")

# A browser sends a handful of languages; a longer header is not from a user's browser.
_MAX_HEADER = 1_000
_MAX_RANGES = 30
_RANGE = re.compile(
    r"\s*([A-Za-z]{1,8})(?:-[A-Za-z0-9-]{1,40})?\s*(?:;\s*q\s*=\s*(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)\s*)?"
)
_THIN_SPACE = "\u202f"
_FOLDER = Path(__file__).parent / "locales"


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """The texts of one language, by dotted key such as `kind.gone.heading`."""

    code: str
    name: str
    direction: str
    months: tuple[str, ...]
    texts: Mapping[str, str]
    _plain: dict[str, Markup] = field(default_factory=dict, compare=False, repr=False)
    """The texts without placeholders, as far as they were needed, as HTML: most of a page is always the same."""

    def __call__(self, key: str, **values: object) -> Markup:
        """The text as HTML with escaped values in its placeholders; Markup values are inserted unchanged."""
        if values:
            return escape(self.texts[key]).format(**values)
        return self._plain.get(key) or self._plain.setdefault(key, escape(self.texts[key]).format())

    def has(self, key: str) -> bool:
        return key in self.texts

    def date(self, moment: date) -> Markup:
        """A day as this language writes it: 3 May 2026."""
        return self("date", day=moment.day, month=self.months[moment.month - 1], year=moment.year)

    def number(self, value: int) -> str:
        """Groups of three with a thin space, which no language uses as a decimal mark."""
        return f"{value:,}".replace(",", _THIN_SPACE)


def choose(accept_language: str | None) -> Catalogue:
    """The catalogue that the user prefers; English when we lack their languages or the header is malformed."""
    wanted: dict[str, float] = {}
    for part in (accept_language or "")[:_MAX_HEADER].split(",")[:_MAX_RANGES]:
        match = _RANGE.fullmatch(part)
        if match and match[1].lower() in LANGUAGES:
            code, quality = match[1].lower(), float(match[2] or 1)
            wanted[code] = max(quality, wanted.get(code, 0.0))
    best = max(wanted, key=lambda code: wanted[code], default=ENGLISH)
    return catalogue(best if wanted.get(best, 0.0) > 0 else ENGLISH)


@cache
def catalogue(code: str) -> Catalogue:
    """One of LANGUAGES, read once; a text that a language lacks is taken from English."""
    texts = _read_english() if code == ENGLISH else {**catalogue(ENGLISH).texts, **_read_translation(code)}
    months = tuple(texts[f"months.{number}"] for number in range(1, 13))
    return Catalogue(code=code, name=texts["name"], direction=texts["direction"], months=months, texts=texts)


def _read_english() -> dict[str, str]:
    return {entry.msgctxt: entry.msgid for entry in polib.pofile(_FOLDER / "linkmend.pot")}


def _read_translation(code: str) -> dict[str, str]:
    """The translations of the English texts as they are now; one of an older text is not shown."""
    english = catalogue(ENGLISH).texts
    return {
        entry.msgctxt: entry.msgstr
        for entry in polib.pofile(_FOLDER / f"{code}.po")
        if entry.translated() and english.get(entry.msgctxt) == entry.msgid
    }
