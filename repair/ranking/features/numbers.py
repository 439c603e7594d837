"""Numbers: years, chapters, lessons and versions tell the members of a series apart, where words are all the same.

A value is 1 where the numbers of both sides agree, -1 where they contradict, 0 where either side has none.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import takewhile
from typing import NamedTuple

import numpy as np
from rapidfuzz.distance import LCSseq

from repair.collection.pages import PageSummary
from repair.ranking.features.frequencies import Table
from repair.ranking.queryfeatures import QueryFeatures
from repair.text.urlstructure import structure_of

COLUMNS = (
    *("anchor.numbers", "slug.numbers", "context.years", "address.years"),
    *("anchor.number_order", "slug.number_order", "anchor.version", "slug.version"),
)

_NUMBER = re.compile(r"(?<![0-9])0*([0-9]{1,8})(?![0-9])")
_VERSION = re.compile(r"(?<![0-9])[0-9]{1,4}(?:[._-][0-9]{1,4}){1,5}(?![0-9])")
_YEAR = re.compile(r"(?:19|20)[0-9]{2}\Z")
_YEARS_AT = COLUMNS.index("address.years")
_MAX_CHARACTERS = 400
_MAX_NUMBERS = 16
_SAME_LINE, _OTHER_LINE, _OTHER = 0.4, -0.6, -1.0

Numbers = frozenset[str]
Version = tuple[str, ...]


class TextNumbers(NamedTuple):
    """The numbers of a text: as a set, the years among them, in their order, and versions such as 3.11 or 2-1-4."""

    all: Numbers
    years: Numbers
    order: tuple[str, ...]
    versions: tuple[Version, ...]


_NONE = TextNumbers(frozenset(), frozenset(), (), ())


def columns(query_features: QueryFeatures, pages: Sequence[PageSummary]) -> Table:
    """COLUMNS of each candidate: the numbers of the link, of the lost name, of the text around, against its title.

    numbers        as sets
    number_order   in the order in which they are written: 3.2.4 is not 3.4.2, and 3.4 is not 3.4.2
    version        versions alone: the same, of one line (2.1 and 2.1.4), or others
    address.years  the years of the addresses, where addresses may be compared
    """
    link = query_features.link
    lost = structure_of(link.url)
    anchor = _numbers(link.anchor) if query_features.anchor_name else _NONE
    slug = _numbers(lost.name) if lost else _NONE
    around = _numbers(f"{link.before[-_MAX_CHARACTERS:]} {link.anchor} {link.after[:_MAX_CHARACTERS]}").years
    rows = np.zeros((len(pages), len(COLUMNS)), np.float32)
    if anchor.all or slug.all or around:
        for row, page in enumerate(pages):
            title = _numbers(page.title)
            if title.all:
                rows[row] = (
                    _agreement(anchor.all, title.all),
                    _agreement(slug.all, title.all),
                    _agreement(around, title.years),
                    0.0,
                    _order_agreement(anchor.order, title.order),
                    _order_agreement(slug.order, title.order),
                    _version_agreement(anchor.versions, title.versions),
                    _version_agreement(slug.versions, title.versions),
                )
    years = _numbers(lost.path).years if lost and query_features.compare_addresses else frozenset()
    if years:
        for row, page in enumerate(pages):
            if found := structure_of(page.url):
                rows[row, _YEARS_AT] = _agreement(years, _numbers(found.path).years)
    return rows


@lru_cache(maxsize=16_384)
def _numbers(text: str) -> TextNumbers:
    text = text[: 3 * _MAX_CHARACTERS]
    order = tuple(_NUMBER.findall(text))
    if not order:
        return _NONE
    versions = tuple(tuple(_NUMBER.findall(found)) for found in _VERSION.findall(text)[:_MAX_NUMBERS])
    return TextNumbers(
        frozenset(order), frozenset(filter(_YEAR.match, order)), order[:_MAX_NUMBERS], versions
    )


def _agreement(wanted: Numbers, found: Numbers) -> float:
    if not (wanted and found):
        return 0.0
    return 2 * len(wanted & found) / len(wanted | found) - 1


def _order_agreement(wanted: Sequence[str], found: Sequence[str]) -> float:
    if not (wanted and found):
        return 0.0
    return 4 * LCSseq.similarity(wanted, found) / (len(wanted) + len(found)) - 1


def _version_agreement(wanted: Sequence[Version], found: Sequence[Version]) -> float:
    if not (wanted and found):
        return 0.0
    return max(_compare(one, other) for one in wanted for other in found)


def _compare(one: Version, other: Version) -> float:
    if one == other:
        return 1.0
    common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
    if common == min(len(one), len(other)):
        return _SAME_LINE
    return _OTHER_LINE if common else _OTHER
