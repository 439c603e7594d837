"""Exact term frequencies of candidates for everything that is asked about them, counted in one pass."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from repair.clues import NAMES, Clues
from repair.pages import Brief
from repair.urls import directory
from repair.vectors import FIELDS, Hashes, Vectors, hashes

_SIEVE = 1 << 16
_NOBODY = "\0"  # a name that no page has

Table = npt.NDArray[np.float32]


class Asked:
    """The terms of all clues side by side, names the page may go by, and addresses that candidates may link to."""

    def __init__(self, clues: Clues, pages: Sequence[Brief]) -> None:
        terms = dict.fromkeys(term for each in clues.terms.values() for term in each)
        self.weights = _weights(clues.terms, {term: at for at, term in enumerate(terms)})
        self.sizes = (self.weights > 0).sum(axis=1).astype(np.float32)
        self.hashes = hashes(terms)
        names = (clues.anchor_name, clues.slug_name, clues.tail_name)
        self._groups = {
            "terms": self.hashes,
            "names": hashes(name or _NOBODY for name in names),
            "lost": hashes((clues.link.url, directory(clues.link.url))),
            "candidates": hashes(page.url for page in pages),
        }

    def counted(self, vectors: Vectors) -> dict[str, Table]:
        """Exact tf by group, each field by page by what was asked."""
        wanted, places = np.unique(np.concatenate(list(self._groups.values())), return_inverse=True)
        table = _frequencies(vectors, wanted)
        found, start = {}, 0
        for name, group in self._groups.items():
            found[name] = table[:, :, places[start : start + len(group)]]
            start += len(group)
        return found


def _weights(clues: Mapping[str, Mapping[str, float]], places: Mapping[str, int]) -> Table:
    weights = np.zeros((len(NAMES), len(places)), np.float32)
    for row, name in enumerate(NAMES):
        for term, weight in clues.get(name, {}).items():
            weights[row, places[term]] = weight
    return weights


def _frequencies(vectors: Vectors, wanted: Hashes) -> Table:
    """By field, page and wanted term; `wanted` is sorted."""
    table = np.zeros((len(FIELDS), len(vectors.pages), len(wanted)), np.float32)
    if not len(wanted):
        return table
    # A cheap sieve first: most entries are of terms that nobody asks for.
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


def linked(tf: Table) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Links among candidates, as positions of sources and targets, out of their addresses in each other's links."""
    sources, targets = np.nonzero(tf[FIELDS.index("links")])
    return sources, targets
