"""Explained titles: how much of a candidate's title is not known from elsewhere, each word weighted by its idf.

Sister pages share most words of their titles, and none of them is in the link ("Decision policy"). The page of the
click, the directories of the lost address and the text around the link tell them apart: the title of the right one
has no word that nothing explains.
"""

import numpy as np

from repair.collection.index.idf import Weights, buckets
from repair.collection.index.vectors import FIELDS, TermVectors
from repair.ranking.features.frequencies import FrequencyQuery, Table
from repair.ranking.queryfeatures import NAMES

COLUMNS = ("explained.title_rest", "explained.title_of_names")

_TITLE = FIELDS.index("title")
_OWN, _KNOWN = (
    [NAMES.index(name) for name in names]
    for names in (("anchor", "slug"), [name for name in NAMES if name != "copy"])
)


def columns(query: FrequencyQuery, tf: dict[str, Table], vectors: TermVectors, rarity: Weights) -> Table:
    """COLUMNS of each candidate.

    rest      how much of its title nothing explains, as a logarithm. The share that is explained would prefer the
              shortest titles: on sites that really moved it put glossaries before guides.
    of_names  the share of the words of link and address that its title has
    """
    terms = np.concatenate((query.hashes, query.source_title))
    count = len(query.hashes)
    shown = np.zeros((len(terms), 2), bool)
    shown[:count, 0], shown[:count, 1] = ((query.weights[rows] > 0).any(axis=0) for rows in (_KNOWN, _OWN))
    # The title of the page of the click explains what the others do not.
    shown[count:, 0] = ~np.isin(query.source_title, query.hashes[shown[:count, 0]])
    weights = shown * rarity[buckets(terms)][:, None]
    has = np.concatenate((tf["terms"][_TITLE], tf["source_title"][_TITLE]), axis=1) > 0
    explained, named = (has.astype(np.float32) @ weights).T
    entries = vectors.entries_of(_TITLE)
    whole = np.bincount(
        vectors.segment[entries] // len(FIELDS), rarity[buckets(vectors.term[entries])], len(vectors.pages)
    )
    rest = np.log1p(np.maximum(whole - explained, 0.0))
    whole_name = max(float(weights[:, 1].sum()), 1e-6)
    return np.stack((rest, named / whole_name), axis=1).astype(np.float32)
