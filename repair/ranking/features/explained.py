"""Explained titles: how much of a candidate's title is known from elsewhere, each word weighted by its idf.

Sister pages share most words of their titles, and none of them is in the link ("Decision policy"). The page of the
click, the directories of the lost address and the text around the link tell them apart: the title of the right one
has no word that nothing explains.
"""

from collections.abc import Iterable

import numpy as np

from repair.collection.index.idf import Weights, buckets
from repair.collection.index.vectors import FIELDS, TermVectors, hashes
from repair.ranking.features.frequencies import Table
from repair.ranking.queryfeatures import NAMES, QueryFeatures

COLUMNS = (
    "explained.title_all",
    "explained.title_names",
    "explained.title_source",
    "explained.title_rest",
    "explained.title_of_source",
    "explained.title_of_names",
)

_TITLE = FIELDS.index("title")
_NAMING = ("anchor", "slug", "dirs", "inlinks")
_OWN = ("anchor", "slug")


def columns(query_features: QueryFeatures, vectors: TermVectors, rarity: Weights) -> Table:
    """COLUMNS of each candidate.

    all, names, source     the share of its title in all that is known, in what names the page, in the title of the
                           page of the click
    rest                   how much of the title nothing explains, as a logarithm
    of_source, of_names    the share of the title of that page, and of link and address, that its title has
    """
    naming, own, around = (
        _terms(query_features, names) for names in (_NAMING, _OWN, (name for name in NAMES if name != "copy"))
    )
    source = set(query_features.source_title)
    entries = np.flatnonzero(vectors.segment % len(FIELDS) == _TITLE)
    rows, terms = vectors.segment[entries] // len(FIELDS), vectors.term[entries]
    weights = rarity[buckets(terms)]
    count = len(vectors.pages)
    whole = np.bincount(rows, weights, count)
    explained, named, of_source, of_own = (
        np.bincount(rows, weights * np.isin(terms, hashes(known)), count)
        for known in (around | source, naming, source, own)
    )
    total = np.maximum(whole, 1e-6)
    found = (
        explained / total,
        named / total,
        of_source / total,
        np.log1p(np.maximum(whole - explained, 0.0)),
        of_source / _mass(source, rarity),
        of_own / _mass(own, rarity),
    )
    return np.stack(found, axis=1).astype(np.float32)


def _terms(query_features: QueryFeatures, names: Iterable[str]) -> set[str]:
    return {term for name in names for term in query_features.terms.get(name, ())}


def _mass(terms: set[str], rarity: Weights) -> float:
    return float(rarity[buckets(hashes(terms))].sum()) or 1.0
