"""Exact term frequencies of candidates for all query terms, counted in one pass."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from repair.collection.index.fulltext import LINK, ancestors
from repair.collection.index.vectors import FIELDS, Hashes, TermVectors, hashes
from repair.collection.pages import PageSummary
from repair.ranking.queryfeatures import NAMES, QueryFeatures
from repair.text.languages import edition_of
from repair.text.urls import directory

_SIEVE = 1 << 16
_KNOWN = tuple(name for name in NAMES if name != "copy")
_NO_NAME = "\0"  # a name that no page has

Table = npt.NDArray[np.float32]


class FrequencyQuery:
    """The terms of all query features side by side, names of the lost page, and URLs that candidates may link to.

    `source_title` are those terms of the title of the page of the click that no other source but a copy has.
    """

    def __init__(self, query_features: QueryFeatures, pages: Sequence[PageSummary]) -> None:
        terms = dict.fromkeys(term for each in query_features.terms.values() for term in each)
        self.weights = _weights(query_features.terms, {term: at for at, term in enumerate(terms)})
        self.sizes = (self.weights > 0).sum(axis=1).astype(np.float32)
        self.hashes = hashes(terms)
        known = {term for name in _KNOWN for term in query_features.terms.get(name, ())}
        self.source_title = hashes(
            dict.fromkeys(term for term in query_features.source_title if term not in known)
        )
        self.candidates = hashes(page.url for page in pages)
        names = (query_features.anchor_name, query_features.slug_name, query_features.tail_name)
        edition = edition_of(query_features.link.url)
        self._groups = {
            "terms": self.hashes,
            "source_title": self.source_title,
            "names": hashes(name or _NO_NAME for name in names),
            "lost": hashes((LINK, query_features.link.url, *ancestors(query_features.link.url))),
            "edition": hashes((edition, directory(edition[:-1])) if edition else (_NO_NAME, _NO_NAME)),
            "editions": hashes(query_features.edition_directories()),
            "candidates": self.candidates,
        }

    def count(self, vectors: TermVectors) -> dict[str, Table]:
        """Exact tf by group: field by page by term."""
        wanted, places = np.unique(np.concatenate(list(self._groups.values())), return_inverse=True)
        table = _frequencies(vectors, wanted)
        found, start = {}, 0
        for name, group in self._groups.items():
            found[name] = table[:, :, places[start : start + len(group)]]
            start += len(group)
        return found


def _weights(query_features: Mapping[str, Mapping[str, float]], places: Mapping[str, int]) -> Table:
    weights = np.zeros((len(NAMES), len(places)), np.float32)
    for row, name in enumerate(NAMES):
        for term, weight in query_features.get(name, {}).items():
            weights[row, places[term]] = weight
    return weights


def _frequencies(vectors: TermVectors, wanted: Hashes) -> Table:
    """By field, page and wanted term; `wanted` is sorted."""
    table = np.zeros((len(FIELDS), len(vectors.pages), len(wanted)), np.float32)
    if not len(wanted):
        return table
    # A cheap filter first: most entries are of terms that no query has.
    sieve = np.zeros(_SIEVE, dtype=bool)
    sieve[wanted & (_SIEVE - 1)] = True
    kept = np.flatnonzero(sieve[vectors.term & (_SIEVE - 1)])
    terms = vectors.term[kept]
    places = np.minimum(np.searchsorted(wanted, terms), len(wanted) - 1)
    right = wanted[places] == terms
    kept, places = kept[right], places[right]
    segment = vectors.segment[kept]
    table[segment % len(FIELDS), segment // len(FIELDS), places] = vectors.tf[kept]
    return table


def links_among(tf: Table) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Links among candidates, as positions of sources and targets, found through the URLs that each links to."""
    sources, targets = np.nonzero(tf[FIELDS.index("links")])
    return sources, targets
