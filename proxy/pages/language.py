"""The languages of our pages: catalogues in locales/, and the choice by Accept-Language (RFC 9110 12.5.4)."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """The texts of one language, by dotted key such as `kind.gone.heading`."""

    code: str
    name: str
    direction: str
    months: tuple[str, ...]
    texts: Mapping[str, str]

    def __call__(self, key: str, **values: object) -> Markup:
        """The text as HTML with escaped values in its placeholders; Markup values are inserted unchanged."""
        return escape(self.texts[key]).format(**values)

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
    texts, months = _read_catalogue(code)
    if code != ENGLISH:
        texts = {**catalogue(ENGLISH).texts, **texts}
    return Catalogue(code=code, name=texts["name"], direction=texts["direction"], months=months, texts=texts)


def _read_catalogue(code: str) -> tuple[dict[str, str], tuple[str, ...]]:
    path = Path(__file__).parent / "locales" / f"{code}.toml"
    tree = tomllib.loads(path.read_text(encoding="utf-8"))
    months = tuple(str(month) for month in tree.pop("months"))
    return dict(_flat(tree)), months


def _flat(tree: Mapping[str, object], prefix: str = "") -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    for key, value in tree.items():
        pairs += _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else [(prefix + key, str(value))]
    return pairs
