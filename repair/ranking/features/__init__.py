"""Ranking features: the evidence for each candidate, as one matrix, candidates by FEATURES.

    termmatch        every query feature's words against every field: read this first
    explained        how much of the candidate's title nothing else explains
    titles           the names of the lost page against the names of the candidate
    urls             URLs against URLs, and where known moves lead
    languages        the language of the candidate against that of the pages that link to the lost one
    numbers          years, chapters and versions, which tell the members of a series apart
    textsimilarity   the whole text and the links, against pages related to the lost one (columns `company.*`)
    frequencies      the exact term frequencies that all of them need

The same values follow normalised per query, as Bashir does (divided by the best candidate's), since mostly the
order counts; and how much evidence there is at all, the same for all candidates, so that a model can weigh the rest
by it.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from repair.collection.index.fulltext import ancestors
from repair.collection.index.idf import Weights
from repair.collection.index.vectors import FIELDS, Hashes, TermStatistics, TermVectors
from repair.collection.pages import PageSummary
from repair.ranking.candidates import RetrievalTrace
from repair.ranking.features import explained, languages, numbers, termmatch, textsimilarity, titles, urls
from repair.ranking.features.frequencies import FrequencyQuery
from repair.ranking.queryfeatures import QueryFeatures

Matrix = npt.NDArray[np.floating[Any]]

_LENGTHS = ("body_length", "anchors_length", "title_length")
_FOUND = ("found.best", "found.ways")
_LENGTHS_AT = [FIELDS.index(name) for name in ("body", "anchors", "title")]

RAW = (
    *termmatch.COLUMNS,
    *titles.COLUMNS,
    *titles.CALLED,
    *_LENGTHS,
    *_FOUND,
    *textsimilarity.LINKED,
    *urls.COLUMNS,
    *urls.MOVED,
    *urls.PRIORS,
    *textsimilarity.COLUMNS,
    *languages.COLUMNS,
    *numbers.COLUMNS,
    *explained.COLUMNS,
)
_NORMALISED = (
    *termmatch.COLUMNS,
    *titles.COLUMNS,
    *titles.CALLED,
    "links_directory",
    "links_near",
    "links_both",
    "anchors_length",
    *urls.COLUMNS,
    "move.directory",
    *textsimilarity.COLUMNS,
    *explained.COLUMNS,
)
KNOWN = tuple(
    f"known.{name}" for name in ("inlinks", "anchor_terms", "slug_terms", "copy_terms", "urls", "anchors")
)
FEATURES: tuple[str, ...] = (*RAW, *(f"{name}/best" for name in _NORMALISED), *KNOWN)

_NORMALISED_AT = [RAW.index(name) for name in _NORMALISED]
_PATH_AT, _ANCHORED_AT = RAW.index("address.path"), RAW.index("anchors_length")
_MATCHED_AT = [
    termmatch.COLUMNS.index(f"{feature}.{field}")
    for feature in ("anchor", "slug", "inlinks", "around", "context", "copy")
    for field in ("title", "body")
]


class VectorSource(Protocol):
    """Has the term vectors of pages."""

    def vectors(self, pages: Sequence[int]) -> TermVectors:
        """The vectors of pages, in their order."""

    def statistics(self, terms: Hashes, fields: Sequence[int]) -> TermStatistics:
        """How common terms are in some of the fields."""

    def rarities(self) -> Weights:
        """The idf of all terms, by the buckets of `repair.collection.index.idf`."""

    def page_numbers(self, addresses: Iterable[str]) -> dict[str, int]:
        """The numbers of those of some URLs that are saved."""

    def page_summaries(self, pages: Sequence[int]) -> dict[int, PageSummary]:
        """What ranking needs of pages, by number."""


def features(
    collection: VectorSource,
    query_features: QueryFeatures,
    pages: Sequence[PageSummary],
    found: Mapping[int, RetrievalTrace],
) -> Matrix:
    """One row per page, one column per name in FEATURES; `found` says how each page was found."""
    if not pages:
        return np.zeros((0, len(FEATURES)), np.float32)
    query = FrequencyQuery(query_features, pages)
    vectors = collection.vectors([page.page for page in pages])
    linking = _backlinks(collection, query_features)
    backlinks = collection.vectors(linking)
    tf = query.count(vectors)
    matched = termmatch.columns(
        query, tf["terms"], vectors, collection.statistics(query.hashes, (termmatch.BODY,))
    )
    placed = urls.columns(query_features, pages)
    raw = np.concatenate(
        (
            matched,
            titles.columns(query_features, pages),
            titles.anchor_columns(query_features, tf["names"], vectors),
            _lengths(vectors),
            np.array([found[page.page] for page in pages], np.float32),
            textsimilarity.link_columns(tf, vectors, backlinks, query.candidates)
            * _may_compare(query_features, len(textsimilarity.LINKED)),
            placed,
            urls.move_columns(query_features, pages),
            urls.prior_columns(query_features, pages),
            textsimilarity.columns(
                vectors,
                backlinks,
                collection.rarities(),
                matched[:, _MATCHED_AT].sum(axis=1),
                placed[:, urls.SIBLING] > 0,
            ),
            languages.columns(
                query_features,
                pages,
                list(collection.page_summaries(linking).values()),
                textsimilarity.editions(tf["edition"]),
                textsimilarity.default_edition(tf, _is_on_host(query_features)),
            ),
            numbers.columns(query_features, pages),
            explained.columns(query, tf, vectors, collection.rarities()),
        ),
        axis=1,
        dtype=np.float32,
    )
    return complete_features(raw, _counts(query_features))


def complete_features(raw: Matrix, counts: Sequence[float]) -> Matrix:
    """Raw features plus those that depend on the other candidates; recompute whenever a candidate is removed."""
    best = raw[:, _NORMALISED_AT]
    low, high = best.min(axis=0), best.max(axis=0)
    spread = high - low
    # Where all values are equal there is no best one, but there may be evidence: a lone candidate is not a poor
    # one.
    relative = np.where(spread > 1e-6, (best - low) / np.maximum(spread, 1e-6), best > 1e-6)
    evidence = (raw[:, _PATH_AT].max(), (raw[:, _ANCHORED_AT] > 0).mean())
    known = np.tile(np.array((*counts, *evidence), np.float32), (len(raw), 1))
    whole: Matrix = np.nan_to_num(np.concatenate((raw, relative, known), axis=1)).astype(np.float32)
    return whole


def _backlinks(collection: VectorSource, query_features: QueryFeatures) -> list[int]:
    """The saved pages that link to the lost one, the page of the click included."""
    urls = dict.fromkeys((query_features.link.source_url, *query_features.backlinks))
    return list(collection.page_numbers(url for url in urls if url).values())


def _is_on_host(query_features: QueryFeatures) -> npt.NDArray[np.bool_]:
    """Whether each of the site's editions is a directory of the lost page's own host."""
    host = ancestors(query_features.link.url)[-1]
    return np.array([directory.startswith(host) for directory in query_features.edition_directories()], bool)


def _lengths(vectors: TermVectors) -> Matrix:
    lengths = vectors.lengths[:, _LENGTHS_AT]
    return np.stack((np.log1p(lengths[:, 0]), np.log1p(lengths[:, 1]), lengths[:, 2]), axis=1)


def _may_compare(query_features: QueryFeatures, width: int) -> Matrix:
    """Co-citation is not used where the lost page may be saved: it would be the one page that nobody cites."""
    mask = np.ones(width, np.float32)
    if not query_features.compare_addresses:
        mask[textsimilarity.LINKED.index("links_both")] = 0.0
    return mask


def _counts(query_features: QueryFeatures) -> tuple[float, ...]:
    """How much evidence there is at all, in the order of KNOWN."""
    sizes = (float(len(query_features.terms.get(name, ()))) for name in ("anchor", "slug", "copy"))
    return float(np.log1p(query_features.inlink_count)), *sizes
