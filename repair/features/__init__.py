"""Features: what speaks for each candidate, as one matrix, candidates by FEATURES.

    texts    every clue's words against every field
    names    what the page is called against what the candidate is called
    places   addresses against addresses, and where known moves lead
    company  the whole text and the links, against the pages that the lost one belonged to

To the raw values come the same normalised per query, as Bashir does (over the best candidate's), since what counts is
mostly who is best; and what there is to go by at all, the same for all candidates, so that a model can weigh the rest
by it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from repair.clues import Clues
from repair.features import company, names, places, texts
from repair.features.frequencies import Asked
from repair.pages import Brief
from repair.propose import Trace
from repair.rarity import Weights
from repair.vectors import FIELDS, Hashes, Statistics, Vectors, hashes

Matrix = npt.NDArray[np.floating[Any]]

_LENGTHS = ("body_length", "anchors_length", "title_length")
_FOUND = ("found.best", "found.ways")
_LENGTHS_AT = [FIELDS.index(name) for name in ("body", "anchors", "title")]

RAW = (
    *texts.COLUMNS,
    *names.COLUMNS,
    *names.CALLED,
    *_LENGTHS,
    *_FOUND,
    *company.LINKED,
    *places.COLUMNS,
    *places.MOVED,
    *places.PRIORS,
    *company.COLUMNS,
)
_NORMALISED = (
    *texts.COLUMNS,
    *names.COLUMNS,
    *names.CALLED,
    "links_directory",
    "links_both",
    "anchors_length",
    *places.COLUMNS,
    "move.directory",
    *company.COLUMNS,
)
KNOWN = tuple(
    f"known.{name}" for name in ("inlinks", "anchor_terms", "slug_terms", "copy_terms", "urls", "anchors")
)
FEATURES: tuple[str, ...] = (*RAW, *(f"{name}/best" for name in _NORMALISED), *KNOWN)

_NORMALISED_AT = [RAW.index(name) for name in _NORMALISED]
_PATH_AT, _ANCHORED_AT = RAW.index("address.path"), RAW.index("anchors_length")
_MATCHED_AT = [
    texts.COLUMNS.index(f"{clue}.{field}")
    for clue in ("anchor", "slug", "inlinks", "around", "context", "copy")
    for field in ("title", "body")
]


class Measurable(Protocol):
    """Who has the vectors of pages."""

    def vectors(self, pages: Sequence[int]) -> Vectors:
        """The vectors of pages, in their order."""

    def statistics(self, terms: Hashes, fields: Sequence[int]) -> Statistics:
        """How common terms are in some of the fields."""

    def rarities(self) -> Weights:
        """How rare all terms are, by the buckets of `repair.rarity`."""

    def page_number(self, url: str) -> int | None:
        """The number of a held page."""


def features(
    collection: Measurable, clues: Clues, pages: Sequence[Brief], found: Mapping[int, Trace]
) -> Matrix:
    """One row per page, one column per name in FEATURES; `found` tells how each page was found."""
    if not pages:
        return np.zeros((0, len(FEATURES)), np.float32)
    asked = Asked(clues, pages)
    vectors = collection.vectors([page.page for page in pages])
    backlinks = collection.vectors(_backlinks(collection, clues))
    tf = asked.counted(vectors)
    matched = texts.columns(asked, tf["terms"], vectors, collection.statistics(asked.hashes, (texts.BODY,)))
    placed = places.columns(clues, pages)
    raw = np.concatenate(
        (
            matched,
            names.columns(clues, pages),
            names.called(clues, tf["names"], vectors),
            _lengths(vectors),
            np.array([found[page.page] for page in pages], np.float32),
            company.ties(tf, vectors, backlinks, hashes(page.url for page in pages))
            * _may_compare(clues, len(company.LINKED)),
            placed,
            places.moved(clues, pages),
            places.priors(clues, pages),
            company.columns(
                vectors,
                backlinks,
                collection.rarities(),
                matched[:, _MATCHED_AT].sum(axis=1),
                placed[:, places.SIBLING] > 0,
            ),
        ),
        axis=1,
    )
    return completed(raw, _counts(clues))


def completed(raw: Matrix, counts: Sequence[float]) -> Matrix:
    """Raw features with those that depend on who else is a candidate; anew whenever a candidate is taken away."""
    best = raw[:, _NORMALISED_AT]
    low, high = best.min(axis=0), best.max(axis=0)
    spread = high - low
    # Where all are the same there is no best one, but there may be evidence: a lone candidate is not a poor one.
    relative = np.where(spread > 1e-6, (best - low) / np.maximum(spread, 1e-6), best > 1e-6)
    there = (raw[:, _PATH_AT].max(), (raw[:, _ANCHORED_AT] > 0).mean())
    known = np.tile(np.array((*counts, *there), np.float32), (len(raw), 1))
    whole: Matrix = np.nan_to_num(np.concatenate((raw, relative, known), axis=1)).astype(np.float32)
    return whole


def _backlinks(collection: Measurable, clues: Clues) -> list[int]:
    """The pages that link to the lost one, the page of the click too, as far as they are held."""
    urls = dict.fromkeys((clues.link.source_url, *clues.backlinks))
    numbers = (collection.page_number(url) for url in urls if url)
    return [number for number in numbers if number is not None]


def _lengths(vectors: Vectors) -> Matrix:
    lengths = vectors.lengths[:, _LENGTHS_AT]
    return np.stack((np.log1p(lengths[:, 0]), np.log1p(lengths[:, 1]), lengths[:, 2]), axis=1)


def _may_compare(clues: Clues, width: int) -> Matrix:
    """Who links to both may not be asked where the lost page may be held: it would be the one that nobody does."""
    kept = np.ones(width, np.float32)
    if not clues.compare_addresses:
        kept[company.LINKED.index("links_both")] = 0.0
    return kept


def _counts(clues: Clues) -> tuple[float, ...]:
    """What there is to go by at all, in the order of KNOWN."""
    sizes = (float(len(clues.terms.get(name, ()))) for name in ("anchor", "slug", "copy"))
    return float(np.log1p(clues.inlink_count)), *sizes
