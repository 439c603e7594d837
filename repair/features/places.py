"""Addresses against addresses: the build of the lost one and of the candidates', and where known moves lead."""

from collections.abc import Sequence

import numpy as np
from rapidfuzz.distance import LCSseq

from repair.clues import Clues
from repair.features.frequencies import Table
from repair.pages import Brief
from repair.pointers import Kind
from repair.priors import UrlType, url_prior, url_type
from repair.structure import Build, Likeness, agreeing, build, likeness_of

COLUMNS = tuple(
    f"address.{name}" for name in (*Likeness._fields, "parts_kept", "parts_old", "source_directory")
)
MOVED = ("move.confidence", "move.support", "move.directory")
PRIORS = ("prior.url",)
SIBLING = COLUMNS.index("address.same_directory")
_MAX_PARTS = 16
_PRIORS = {kind: float(np.log(url_prior(kind))) for kind in UrlType}


def columns(clues: Clues, pages: Sequence[Brief]) -> Table:
    """COLUMNS of each candidate; all 0 where addresses may not be compared."""
    lost = build(clues.link.url)
    source = build(clues.link.source_url) if clues.link.source_url else None
    rows = np.zeros((len(pages), len(COLUMNS)), np.float32)
    if lost is None or not clues.compare_addresses:
        return rows
    for row, page in enumerate(pages):
        found = build(page.url)
        if found is None:
            continue
        kept = _kept(lost.parts, found.parts)
        near = agreeing(source.parts[:-1], found.parts) if source and source.host == found.host else 0
        rows[row] = (
            *likeness_of(lost, found),
            kept / max(1, len(lost.parts)),
            kept / max(1, len(found.parts)),
            near / max(1, len(found.parts)),
        )
    return rows


def moved(clues: Clues, pages: Sequence[Brief]) -> Table:
    """What known moves of the site say of each candidate."""
    rows = np.zeros((len(pages), len(MOVED)), np.float32)
    moves = {pointer.url: pointer for pointer in clues.pointers if pointer.kind is Kind.MOVE}
    went = [(found, share) for url, share in clues.directories.items() if (found := build(url + "_"))]
    if not moves and not went:
        return rows
    for row, page in enumerate(pages):
        move = moves.get(page.url)
        if move is not None:
            rows[row, :2] = move.confidence, np.log1p(move.support)
        found = build(page.url) if went else None
        if found is not None:
            rows[row, 2] = max(share * _same_shelf(found, directory) for directory, share in went)
    return rows


def priors(clues: Clues, pages: Sequence[Brief]) -> Table:
    """How likely a page of such an address is looked for, before anything is asked (Westerveld table 9)."""
    found = [_PRIORS[url_type(page.url)] if clues.compare_addresses else 0.0 for page in pages]
    return np.array(found, np.float32)[:, None]


def _same_shelf(page: Build, directory: Build) -> float:
    """How much of a page's directory and another have in common from the beginning on, 0 to 1."""
    own, other = page.parts[:-1], directory.parts[:-1]
    if page.host != directory.host:
        return 0.0
    return (1 + agreeing(own, other)) / (1 + max(len(own), len(other)))


def _kept(old: Sequence[str], new: Sequence[str]) -> int:
    """How many parts of a path the new one has in the same order: directories put in between do not count."""
    return int(LCSseq.similarity(old[:_MAX_PARTS], new[:_MAX_PARTS]))
