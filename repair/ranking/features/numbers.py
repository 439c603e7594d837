"""Numbers: years, chapters, lessons and versions tell the members of a series apart, where words are all the same.

A value is 1 where the numbers of both sides agree, -1 where they contradict, 0 where either side has none.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from repair.collection.pages import PageSummary
from repair.ranking.features.frequencies import Table
from repair.ranking.queryfeatures import QueryFeatures
from repair.text.urlstructure import structure_of

COLUMNS = ("anchor.numbers", "slug.numbers", "context.years", "address.years")

_NUMBER = re.compile(r"(?<![0-9])0*([0-9]{1,8})(?![0-9])")
_YEAR = re.compile(r"(?:19|20)[0-9]{2}\Z")
_MAX_CHARACTERS = 400

Numbers = frozenset[str]


def columns(query_features: QueryFeatures, pages: Sequence[PageSummary]) -> Table:
    """COLUMNS of each candidate: the numbers of the link, of the lost name, of the text around, against its title.

    `address.years` compares the years of the addresses, where addresses may be compared.
    """
    link = query_features.link
    lost = structure_of(link.url)
    anchor = _numbers(link.anchor) if query_features.anchor_name else frozenset()
    slug = _numbers(lost.name) if lost else frozenset()
    around = _years(
        _numbers(f"{link.before[-_MAX_CHARACTERS:]} {link.anchor} {link.after[:_MAX_CHARACTERS]}")
    )
    years = _years(_numbers(lost.path)) if lost and query_features.compare_addresses else frozenset()
    rows = np.zeros((len(pages), len(COLUMNS)), np.float32)
    if not (anchor or slug or around or years):
        return rows
    for row, page in enumerate(pages):
        title = _numbers(page.title)
        found = structure_of(page.url) if years else None
        rows[row] = (
            _agreement(anchor, title),
            _agreement(slug, title),
            _agreement(around, _years(title)),
            _agreement(years, _years(_numbers(found.path)) if found else frozenset()),
        )
    return rows


@lru_cache(maxsize=16_384)
def _numbers(text: str) -> Numbers:
    return frozenset(_NUMBER.findall(text[: 3 * _MAX_CHARACTERS]))


def _years(numbers: Numbers) -> Numbers:
    return frozenset(filter(_YEAR.match, numbers))


def _agreement(wanted: Numbers, found: Numbers) -> float:
    if not (wanted and found):
        return 0.0
    return 2 * len(wanted & found) / len(wanted | found) - 1
