"""Explained titles: how much of a candidate's title is known from elsewhere, each word weighted by its idf.

Sister pages share most words of their titles, and none of them is in the link ("Decision policy"). The page of the
click, the directories of the lost address and the text around the link tell them apart: the title of the right one
has no word that nothing explains.
"""

import numpy as np

from repair.collection.index.idf import Weights, buckets
from repair.collection.index.vectors import FIELDS, TermVectors
from repair.ranking.features.frequencies import FrequencyQuery, Table
from repair.ranking.queryfeatures import NAMES

COLUMNS = (
    "explained.title_all",
    "explained.title_names",
    "explained.title_source",
    "explained.title_rest",
    "explained.title_of_source",
    "explained.title_of_names",
)

_TITLE = FIELDS.index("title")
_NAMING, _OWN, _KNOWN = (
    [NAMES.index(name) for name in names]
    for names in (
        ("anchor", "slug", "dirs", "inlinks"),
        ("anchor", "slug"),
        [name for name in NAMES if name != "copy"],
    )
)


def columns(query: FrequencyQuery, tf: dict[str, Table], vectors: TermVectors, rarity: Weights) -> Table:
    """COLUMNS of each candidate.

    all, names, source     the share of its title in all that is known, in what names the page, in the title of the
                           page of the click
    rest                   how much of the title nothing explains, as a logarithm
    of_source, of_names    the share of the title of that page, and of link and address, that its title has
    """
    known = np.concatenate((query.hashes, query.source_title))
    weights = rarity[buckets(known)]
    # Which terms each kind of evidence has; the title of the page of the click comes last.
    shown = np.zeros((4, len(known)), bool)
    for row, names in enumerate((_KNOWN, _NAMING, _OWN)):
        shown[row, : len(query.hashes)] = (query.weights[names] > 0).any(axis=0)
    shown[3, len(query.hashes) :] = True
    shown[0, len(query.hashes) :] = ~np.isin(query.source_title, query.hashes[shown[0, : len(query.hashes)]])
    weighted = shown * weights
    has = np.concatenate((tf["terms"][_TITLE], tf["source_title"][_TITLE]), axis=1) > 0
    explained, named, of_own, of_source = (has @ weighted.T).T
    entries = vectors.entries_of(_TITLE)
    whole = np.bincount(
        vectors.segment[entries] // len(FIELDS), rarity[buckets(vectors.term[entries])], len(vectors.pages)
    )
    total = np.maximum(whole, 1e-6)
    own, source = np.maximum(weighted[2:].sum(axis=1), 1e-6)
    found = (
        explained / total,
        named / total,
        of_source / total,
        np.log1p(np.maximum(whole - explained, 0.0)),
        of_source / source,
        of_own / own,
    )
    return np.stack(found, axis=1).astype(np.float32)
