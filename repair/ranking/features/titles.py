"""Names of the lost page, from the link, its URL, other links and a copy, against the names of each candidate.

Titles and anchor texts are compared letter by letter.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from rapidfuzz import fuzz, process
from rapidfuzz.distance import JaroWinkler

from repair.collection.index.vectors import FIELDS, TermVectors
from repair.collection.pages import PageSummary
from repair.ranking.features.frequencies import Table
from repair.ranking.queryfeatures import QueryFeatures
from repair.text.urlstructure import normalise_name

COLUMNS = (
    *(f"{name}{sign}title" for name in ("anchor", "slug", "tail", "copy") for sign in "=~"),
    "names=title",
    "names~title",
    *(f"{name}.title_part" for name in ("anchor", "slug", "names")),
    "context.title_within",
)
CALLED = ("anchor.called", "anchor.calls", "slug.called", "tail.called")

_NAMES_AT, _PARTS_AT = COLUMNS.index("names=title"), COLUMNS.index("anchor.title_part")
_LEAST_WITHIN = 4
_LONG_TITLE = 16  # letters; a name this long is no coincidence
_MAX_AROUND = 1_000
_NAMES = FIELDS.index("names")
_BETWEEN = re.compile(r"\s+(?:[|»·•]|-{1,2}|–|—|::)\s+")


def columns(query_features: QueryFeatures, pages: Sequence[PageSummary]) -> Table:
    """COLUMNS of each candidate: `=` the same letters, `~` how similar they are.

    title_part    how well one of name and title fits anywhere into the other
    title_within  the text around the link has the whole title, the more telling the longer the title is
    """
    rows = np.zeros((len(pages), len(COLUMNS)), np.float32)
    listed = [title_names(page.title) for page in pages]
    titles = [title for names in listed for title in names]
    if not titles:
        return rows
    counts = np.array([len(names) for names in listed])
    titled = np.flatnonzero(counts)
    starts = (np.cumsum(counts) - counts)[titled]
    names = dict(query_features.names)
    commonest = query_features.names[0][0] if query_features.names else ""
    _fill_parts(rows, (query_features.anchor_name, query_features.slug_name, commonest), pages)
    lost_names = (
        query_features.anchor_name,
        query_features.slug_name,
        query_features.tail_name,
        query_features.copy_name,
        commonest,
    )
    known = [column for column, name in enumerate(lost_names) if name]
    if known:
        alike = process.cdist(
            [lost_names[column] for column in known],
            titles,
            scorer=JaroWinkler.similarity,
            dtype=np.float32,
        )
        best = np.maximum.reduceat(alike, starts, axis=1)
        places = 2 * np.array(known)
        rows[titled[:, None], places + 1] = best.T
        # Only the same letters in the same order are wholly similar.
        rows[titled[:, None], places] = best.T == 1
    link = query_features.link
    around = _letters(f"{link.before} {link.anchor} {link.after}")
    shares = [names.get(title, 0.0) for title in titles]
    within = [len(title) if len(title) >= _LEAST_WITHIN and title in around else 0 for title in titles]
    rows[titled, _NAMES_AT] = np.maximum.reduceat(shares, starts)
    rows[titled, -1] = np.minimum(1.0, np.maximum.reduceat(within, starts) / _LONG_TITLE)
    return rows


def _fill_parts(rows: Table, names: Sequence[str], pages: Sequence[PageSummary]) -> None:
    known = [at for at, name in enumerate(names) if name]
    if known:
        titles = [normalise_name(page.title) for page in pages]
        found = process.cdist([names[at] for at in known], titles, scorer=fuzz.partial_ratio, score_cutoff=50)
        # A short name fits into most titles.
        shorter = np.minimum.outer([len(names[at]) for at in known], [len(title) for title in titles])
        rows[:, [_PARTS_AT + at for at in known]] = (found / 100 * np.minimum(1.0, shorter / _LONG_TITLE)).T


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text[:_MAX_AROUND].lower()))


def anchor_columns(query_features: QueryFeatures, tf: Table, vectors: TermVectors) -> Table:
    """Whether other pages call the candidate by the exact words of the link or of the URL, and how many do."""
    anchor, slug, tail = (tf[_NAMES][:, at] for at in range(3))
    total = np.maximum(vectors.lengths[:, _NAMES], 1)
    return np.stack((anchor / total, np.log1p(anchor), slug / total, tail / total), axis=1)


@lru_cache(maxsize=32_768)
def title_names(title: str) -> tuple[str, ...]:
    """The names in a title: all of it, and without what may be the site's name at either end.

    >>> title_names("Water cycle - School Encyclopaedia")
    ('watercycleschoolencyclopaedia', 'watercycle', 'schoolencyclopaedia')
    """
    parts = _BETWEEN.split(title[:200])
    pieces = (title, " ".join(parts[:-1]), " ".join(parts[1:]))
    return tuple(dict.fromkeys(name for piece in pieces if piece and (name := normalise_name(piece))))
