"""URLs against URLs: the structure of the lost one and of the candidates', and where known moves lead."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from rapidfuzz.distance import LCSseq

from repair.collection.pages import PageSummary
from repair.knowntargets import TargetKind
from repair.ranking.features.frequencies import Table
from repair.ranking.priors import UrlType, url_prior, url_type
from repair.ranking.queryfeatures import QueryFeatures
from repair.text.urlstructure import (
    UrlLikeness,
    UrlStructure,
    common_prefix_length,
    likeness_of,
    structure_of,
)

COLUMNS = tuple(
    f"address.{name}" for name in (*UrlLikeness._fields, "parts_kept", "parts_old", "source_directory")
)
MOVED = ("move.confidence", "move.support", "move.directory")
PRIORS = ("prior.url",)
SIBLING = COLUMNS.index("address.same_directory")
_MAX_PARTS = 16
_PRIORS = {kind: float(np.log(url_prior(kind))) for kind in UrlType}
_REMEMBERED = 65_536


def columns(query_features: QueryFeatures, pages: Sequence[PageSummary]) -> Table:
    """COLUMNS of each candidate; all 0 where URLs may not be compared."""
    lost = structure_of(query_features.link.url)
    source = structure_of(query_features.link.source_url) if query_features.link.source_url else None
    rows = np.zeros((len(pages), len(COLUMNS)), np.float32)
    if lost is None or not query_features.compare_addresses:
        return rows
    for row, page in enumerate(pages):
        found = structure_of(page.url)
        if found is None:
            continue
        common = _common_parts(lost.parts, found.parts)
        near = (
            common_prefix_length(source.parts[:-1], found.parts)
            if source and source.host == found.host
            else 0
        )
        rows[row] = (
            *likeness_of(lost, found),
            common / max(1, len(lost.parts)),
            common / max(1, len(found.parts)),
            near / max(1, len(found.parts)),
        )
    return rows


def move_columns(query_features: QueryFeatures, pages: Sequence[PageSummary]) -> Table:
    """What known moves of the site say of each candidate."""
    rows = np.zeros((len(pages), len(MOVED)), np.float32)
    moves = {target.url: target for target in query_features.known_targets if target.kind is TargetKind.MOVE}
    went = [
        (found, share)
        for url, share in query_features.directories.items()
        if (found := structure_of(url + "_"))
    ]
    if not moves and not went:
        return rows
    for row, page in enumerate(pages):
        move = moves.get(page.url)
        if move is not None:
            rows[row, :2] = move.confidence, np.log1p(move.support)
        found = structure_of(page.url) if went else None
        if found is not None:
            rows[row, 2] = max(share * _shared_directories(found, directory) for directory, share in went)
    return rows


def prior_columns(query_features: QueryFeatures, pages: Sequence[PageSummary]) -> Table:
    """The prior probability of a page with such a URL (Westerveld table 9)."""
    found = [_prior(page.url) if query_features.compare_addresses else 0.0 for page in pages]
    return np.array(found, np.float32)[:, None]


@lru_cache(maxsize=_REMEMBERED)
def _prior(url: str) -> float:
    return _PRIORS[url_type(url)]


def _shared_directories(page: UrlStructure, directory: UrlStructure) -> float:
    """The share of leading directories that a page's directory and another have in common, 0 to 1."""
    own, other = page.parts[:-1], directory.parts[:-1]
    if page.host != directory.host:
        return 0.0
    return (1 + common_prefix_length(own, other)) / (1 + max(len(own), len(other)))


def _common_parts(old: Sequence[str], new: Sequence[str]) -> int:
    """How many parts of a path the new one has in the same order, whatever was inserted between them."""
    return int(LCSseq.similarity(old[:_MAX_PARTS], new[:_MAX_PARTS]))
