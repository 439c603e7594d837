"""Names against names: what the link, its address, other links and a copy call the page, against its title and
against what others call the candidate, letter by letter."""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np
from rapidfuzz.distance import JaroWinkler

from repair.clues import Clues
from repair.features.frequencies import Table
from repair.pages import Brief
from repair.structure import squeezed
from repair.vectors import FIELDS, Vectors

COLUMNS = (
    *(f"{name}{sign}title" for name in ("anchor", "slug", "tail", "copy") for sign in "=~"),
    "names=title",
    "names~title",
)
CALLED = ("anchor.called", "anchor.calls", "slug.called", "tail.called")

_NAMES = FIELDS.index("names")
_BETWEEN = re.compile(r"\s+(?:[|»·•]|-{1,2}|–|—|::)\s+")


def columns(clues: Clues, pages: Sequence[Brief]) -> Table:
    """COLUMNS of each candidate: `=` the same letters, `~` how alike they are."""
    rows = np.zeros((len(pages), len(COLUMNS)), np.float32)
    asked = (clues.anchor_name, clues.slug_name, clues.tail_name, clues.copy_name)
    names = dict(clues.names)
    commonest = clues.names[0][0] if clues.names else ""
    for row, page in enumerate(pages):
        titles = title_names(page.title)
        if not titles:
            continue
        for column, name in enumerate(asked):
            if name:
                rows[row, 2 * column] = name in titles
                rows[row, 2 * column + 1] = _alike(name, titles)
        rows[row, -2] = max(names.get(title, 0.0) for title in titles)
        if commonest:
            rows[row, -1] = _alike(commonest, titles)
    return rows


def called(clues: Clues, tf: Table, vectors: Vectors) -> Table:
    """Whether others call the candidate by the very words of the link or of the address, and how many do."""
    anchor, slug, tail = (tf[_NAMES][:, at] for at in range(3))
    total = np.maximum(vectors.lengths[:, _NAMES], 1)
    return np.stack((anchor / total, np.log1p(anchor), slug / total, tail / total), axis=1)


@lru_cache(maxsize=32_768)
def title_names(title: str) -> tuple[str, ...]:
    """The names that a title gives its page: all of it, and without what may be the site's name at either end.

    >>> title_names("Water cycle - School Encyclopaedia")
    ('watercycleschoolencyclopaedia', 'watercycle', 'schoolencyclopaedia')
    """
    parts = _BETWEEN.split(title[:200])
    pieces = (title, " ".join(parts[:-1]), " ".join(parts[1:]))
    return tuple(dict.fromkeys(name for piece in pieces if piece and (name := squeezed(piece))))


def _alike(name: str, titles: Iterable[str]) -> float:
    return max(JaroWinkler.similarity(name, title) for title in titles)
