"""Phrases of missing, parked, closed and unfinished pages in many languages (phrases.json).

A phrase is a sequence of words; `…` stands for up to `MAX_GAP` others. `repair.text.words.tokens` folds both the
phrases and the page, so case, accents and punctuation do not matter, and scripts without spaces are matched as pairs
of characters. A text is scanned once; at each word only the phrases that begin with it are tried.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from importlib import resources
from itertools import chain

import msgspec

from repair.text.words import tokens

MAX_GAP = 5
_GAP = "…"

_SIGHT = 24  # a phrase must end within so many words

Row = tuple[str, ...]


class Phrases:
    """Families of phrases by name, indexed by first word."""

    def __init__(self, families: Mapping[str, Iterable[str]]) -> None:
        self._by_first: dict[str, list[tuple[str, Row, tuple[Row, ...]]]] = {}
        self._needed: set[str] = set()
        """The longest word of each phrase: most texts have none of them."""
        for family, phrases in families.items():
            for phrase in phrases:
                first, *others = (tuple(tokens(part)) for part in phrase.split(_GAP))
                if first and all(others):
                    self._by_first.setdefault(first[0], []).append((family, first, tuple(others)))
                    self._needed.add(max((*first, *chain.from_iterable(others)), key=len))

    def may_be_among(self, words: Iterable[str]) -> bool:
        """Whether `find` may find anything: a check that costs little."""
        return not self._needed.isdisjoint(words)

    def find(self, words: Sequence[str]) -> frozenset[str]:
        """The families with a phrase among the words."""
        families: set[str] = set()
        row = tuple(words)
        for at, word in enumerate(row):
            begun = self._by_first.get(word)
            if begun is None:
                continue
            near = frozenset(row[at + 1 : at + 1 + _SIGHT])
            for family, first, others in begun:
                if family not in families and (len(first) == 1 or first[1] in near) and _follow(others, near):
                    end = at + len(first)
                    if row[at:end] == first and _in_order(row, end, others):
                        families.add(family)
        return frozenset(families)


def _follow(others: tuple[Row, ...], near: frozenset[str]) -> bool:
    """Whether each further part may follow: a quick check before the exact one."""
    return all(part[0] in near for part in others)


def _in_order(row: Row, end: int, others: tuple[Row, ...]) -> bool:
    """Whether the further parts follow in order; the first occurrence of each counts."""
    for part in others:
        size = len(part)
        begins = next((b for b in range(end, end + MAX_GAP + 1) if row[b : b + size] == part), None)
        if begins is None:
            return False
        end = begins + size
    return True


@lru_cache(maxsize=1)
def shipped_phrases() -> Phrases:
    """The phrases of phrases.json, all languages together."""
    return Phrases({family: chain(*by_language.values()) for family, by_language in languages().items()})


def is_usual_notice(row: Row) -> bool:
    """Whether the words are exactly a notice that programs use ("page not found"); film titles are none."""
    return row in _usual_notices()


@lru_cache(maxsize=1)
def _usual_notices() -> frozenset[Row]:
    """Wordings with the bare "not found" in them, and those with a gap, which name the page, file or link."""
    known = languages()
    wordings = list(chain(*known["not_found"].values(), *known["bare"].values()))
    whole = (tuple(tokens(wording)) for wording in wordings if _GAP not in wording)
    parted = (tuple(tokens(wording)) for wording in wordings if _GAP in wording)
    return frozenset(
        (*(row for row in whole if len(row) > 1 and "bare" in shipped_phrases().find(row)), *parted)
    )


def languages() -> dict[str, dict[str, list[str]]]:
    """phrases.json: by family and language."""
    text = resources.files("repair.soft404").joinpath("phrases.json").read_bytes()
    return msgspec.json.decode(text, type=dict[str, dict[str, list[str]]])
