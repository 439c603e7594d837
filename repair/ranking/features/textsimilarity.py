"""The company a page keeps: how its whole text resembles the pages that the lost one must have resembled, and how
the link graph ties it to them.

A lost page is like the pages that link to it, like its neighbours in the same directory, and like what the words
already found best. Texts are compared as cosines of tf x idf, in the buckets of `repair.rarity`.
"""

import numpy as np
import numpy.typing as npt

from repair.features.frequencies import Table, linked
from repair.hits import hits
from repair.rarity import BUCKETS, Weights, buckets
from repair.vectors import FIELDS, Hashes, Vectors

COLUMNS = ("company.best", "company.siblings", "company.backlinks")
LINKED = ("links_here", "links_directory", "links_both", "hub", "authority")

_BODY, _LINKS = FIELDS.index("body"), FIELDS.index("links")
_BEST = 10  # candidates that stand for what the words found

Numbers = npt.NDArray[np.int64]


def columns(
    vectors: Vectors, backlinks: Vectors, rarity: Weights, matched: Table, siblings: npt.NDArray[np.bool_]
) -> Table:
    """COLUMNS of each candidate; `matched` says how well the words match, `siblings` who is in the directory."""
    rows, places, values = _texts(vectors, rarity)
    neighbours = _texts(backlinks, rarity)
    return np.stack(
        (
            _like_others(rows, places, values, _top(matched)),
            _like_others(rows, places, values, siblings.astype(np.float32)),
            _like(rows, places, values, neighbours[1], neighbours[2], len(matched)),
        ),
        axis=1,
    )


def ties(tf: dict[str, Table], vectors: Vectors, backlinks: Vectors, candidates: Hashes) -> Table:
    """LINKED of each candidate: whether it links to the lost address and how much to its directory, the share of the
    backlinks that link to both, and hub and authority among the candidates."""
    lost = tf["lost"][_LINKS]
    links = np.maximum(vectors.lengths[:, _LINKS] / 2, 1)
    hubs, authorities = hits(*linked(tf["candidates"]), len(lost))
    found = (np.minimum(lost[:, 0], 1), lost[:, 1] / links, _both(backlinks, candidates), hubs, authorities)
    return np.stack(found, axis=1).astype(np.float32)


def _both(backlinks: Vectors, candidates: Hashes) -> Table:
    mentioned = backlinks.term[backlinks.segment % len(FIELDS) == _LINKS]
    terms, counts = np.unique(mentioned, return_counts=True)
    if not len(terms):
        return np.zeros(len(candidates), np.float32)
    at = np.minimum(np.searchsorted(terms, candidates), len(terms) - 1)
    found = np.where(terms[at] == candidates, counts[at], 0) / len(backlinks.pages)
    return found.astype(np.float32)


def _texts(vectors: Vectors, rarity: Weights) -> tuple[Numbers, Numbers, Table]:
    """Page, bucket and value of every term of the bodies, each page of length 1."""
    body = vectors.segment % len(FIELDS) == _BODY
    rows = (vectors.segment[body] // len(FIELDS)).astype(np.int64)
    places = buckets(vectors.term[body])
    values = vectors.tf[body] * rarity[places]
    norms = np.sqrt(np.bincount(rows, values * values, len(vectors.pages)))
    return rows, places, (values / np.maximum(norms[rows], 1e-9)).astype(np.float32)


def _top(matched: Table) -> Table:
    """How much the best candidates count, the others nothing."""
    weights = np.zeros(len(matched), np.float32)
    top = np.argsort(-matched)[:_BEST]
    weights[top] = matched[top] / max(float(matched.max(initial=0.0)), 1e-6)
    return weights


def _like(rows: Numbers, places: Numbers, values: Table, there: Numbers, told: Table, size: int) -> Table:
    """The cosine of each page with the sum of other texts; only the buckets in use are looked at, which are few."""
    centre = np.bincount(there, told, BUCKETS)
    norm = max(float((told * centre[there]).sum()) ** 0.5, 1e-9)
    likeness: Table = (np.bincount(rows, values * centre[places], size) / norm).astype(np.float32)
    return likeness


def _like_others(rows: Numbers, places: Numbers, values: Table, weights: Table) -> Table:
    """The cosine of each page with the weighted sum of the *others*: a page is not like itself."""
    kept = np.flatnonzero(weights[rows] > 0)
    weighed, there = weights[rows[kept]] * values[kept], places[kept]
    total = np.bincount(there, weighed, BUCKETS)
    squared = float((weighed * total[there]).sum())
    if squared <= 0:
        return np.zeros(len(weights), np.float32)
    dots = np.bincount(rows, values * total[places], len(weights))
    # Taking a page of length 1 and weight w out of the sum takes w off the dot product.
    others = np.sqrt(np.maximum(squared - 2 * weights * dots + weights * weights, 0.0))
    likeness = np.where(others > 1e-3, (dots - weights) / np.maximum(others, 1e-3), 0.0)
    return likeness.astype(np.float32)
