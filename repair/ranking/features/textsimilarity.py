"""Text similarity: how a candidate's whole text resembles pages that the lost one resembled, and its links to them.

A lost page is like the pages that link to it, like its neighbours in the same directory, and like the candidates
that match the words best. Texts are compared as cosines of tf x idf, in the buckets of `repair.collection.index.idf`.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from repair.collection.index.idf import BUCKETS, Weights, buckets
from repair.collection.index.vectors import FIELDS, Hashes, TermVectors
from repair.ranking.features.frequencies import Table, links_among
from repair.ranking.hits import hits

COLUMNS = ("company.best", "company.siblings", "company.backlinks")
LINKED = ("links_here", "links_directory", "links_near", "links_host", "links_both", "hub", "authority")

_BODY, _LINKS = FIELDS.index("body"), FIELDS.index("links")
_BEST_CANDIDATES = 10  # best candidates that represent what the words found

Numbers = npt.NDArray[np.int64]


class _Texts(NamedTuple):
    """Every term of the bodies of `size` pages: its page, where terms like it are added up, and its value.

    Each page has length 1.
    """

    size: int
    rows: Numbers
    places: npt.NDArray[np.int32]
    values: Table

    def per_page(self, values: npt.NDArray[np.floating[Any]]) -> npt.NDArray[np.float64]:
        """The sums of values of terms, by page; added up in order: trees notice the last digit."""
        return np.bincount(self.rows, values, self.size).astype(np.float64, copy=False)


def columns(
    vectors: TermVectors,
    backlinks: TermVectors,
    rarity: Weights,
    matched: Table,
    siblings: npt.NDArray[np.bool_],
) -> Table:
    """COLUMNS of each candidate.

    `matched` says how well the words match, `siblings` marks pages of the same directory.
    """
    texts, neighbours = _texts((vectors, backlinks), rarity)
    return np.stack(
        (
            _cosines_with_others(texts, _best_weights(matched)),
            _cosines_with_others(texts, siblings.astype(np.float32)),
            _cosines(texts, neighbours),
        ),
        axis=1,
    )


def link_columns(
    tf: dict[str, Table], vectors: TermVectors, backlinks: TermVectors, candidates: Hashes
) -> Table:
    """LINKED of each candidate: its links to the lost URL and near it, co-citation, hub and authority.

    Near are links into its directory and those above: a page links mostly within its own part of a site, so this
    shows the site, the language and the section that the candidate belongs to, whatever its own address.
    Co-citation is the share of the backlinks that link to both.
    """
    lost = tf["lost"][_LINKS]
    # The number of links, the lost URL, and the directories above it, nearest first, up to its host.
    links, above = np.maximum(lost[:, 0], 1), lost[:, 2:]
    hubs, authorities = hits(*links_among(tf["candidates"]), len(lost))
    found = (
        np.minimum(lost[:, 1], 1),
        above[:, 0] / links,
        above.mean(axis=1) / links,
        above[:, -1] / links,
        _cocitation(backlinks, candidates),
        hubs,
        authorities,
    )
    return np.stack(found, axis=1).astype(np.float32)


def editions(tf: Table) -> Table:
    """Whether each candidate links to the edition of the lost page (1) or to others beside it (-1); 0 for neither.

    Counted are its links into the directory of the language and into the directory above it.
    """
    own, all_of_them = tf[_LINKS][:, 0], tf[_LINKS][:, 1]
    share: Table = np.where(all_of_them > 0, 2 * own / np.maximum(all_of_them, 1) - 1, own > 0)
    return share.astype(np.float32)


def default_edition(tf: dict[str, Table], is_on_host: npt.NDArray[np.bool_]) -> Table:
    """Whether each candidate links to the site's default edition (1) or into those that name a language (-1).

    0 where it has no links to the site, or no edition is a directory. `is_on_host` marks the editions on the host of
    the lost page itself, whose links are among those to that host.
    """
    into, host = tf["editions"][_LINKS], tf["lost"][_LINKS][:, -1]
    all_of_them = host + into[:, ~is_on_host].sum(axis=1)
    share = into.sum(axis=1) / np.maximum(all_of_them, 1)
    found: Table = np.where(
        (all_of_them > 0) & (len(is_on_host) > 0), 1 - 2 * np.minimum(share, 1), 0.0
    ).astype(np.float32)
    return found


def _cocitation(backlinks: TermVectors, candidates: Hashes) -> Table:
    mentioned = backlinks.term[backlinks.entries_of(_LINKS)]
    terms, counts = np.unique(mentioned, return_counts=True)
    if not len(terms):
        return np.zeros(len(candidates), np.float32)
    at = np.minimum(np.searchsorted(terms, candidates), len(terms) - 1)
    found = np.where(terms[at] == candidates, counts[at], 0) / len(backlinks.pages)
    return found.astype(np.float32)


def _texts(groups: Sequence[TermVectors], rarity: Weights) -> list[_Texts]:
    """The texts of groups of pages, with terms of all of them at the same places.

    A place is that of any one of the terms of a bucket: an array of all buckets, which is large, is never filled.
    """
    bodies = [vectors.entries_of(_BODY) for vectors in groups]
    found = [buckets(vectors.term[body]) for vectors, body in zip(groups, bodies, strict=True)]
    terms = np.concatenate(found)
    places = np.empty(BUCKETS, np.int32)
    places[terms] = np.arange(len(terms), dtype=np.int32)
    split = np.split(places.take(terms), np.cumsum([len(each) for each in found])[:-1])
    texts = []
    for vectors, body, own, there in zip(groups, bodies, found, split, strict=True):
        size = len(vectors.pages)
        rows = np.repeat(np.arange(size), vectors.distinct[:, _BODY].astype(np.int64))
        text = _Texts(size, rows, there, vectors.tf[body] * rarity.take(own))
        norms = np.maximum(np.sqrt(text.per_page(text.values * text.values)), 1e-9)
        texts.append(text._replace(values=(text.values / norms.take(rows)).astype(np.float32)))
    return texts


def _best_weights(matched: Table) -> Table:
    """Weights of the best candidates; the others weigh nothing."""
    weights = np.zeros(len(matched), np.float32)
    top = np.argsort(-matched)[:_BEST_CANDIDATES]
    weights[top] = matched[top] / max(float(matched.max(initial=0.0)), 1e-6)
    return weights


def _cosines(texts: _Texts, others: _Texts) -> Table:
    """The cosine of each page with the sum of other texts."""
    if not len(others.places):
        return np.zeros(texts.size, np.float32)
    centre = np.bincount(others.places, others.values, _size(texts, others))
    norm = max(float((others.values * centre.take(others.places)).sum()) ** 0.5, 1e-9)
    likeness: Table = (texts.per_page(texts.values * centre.take(texts.places)) / norm).astype(np.float32)
    return likeness


def _cosines_with_others(texts: _Texts, weights: Table) -> Table:
    """The cosine of each page with the weighted sum of the *others*: a page is not compared with itself."""
    weighed = weights.take(texts.rows)
    kept = np.flatnonzero(weighed)
    weighed, there = weighed.take(kept) * texts.values.take(kept), texts.places.take(kept)
    total = np.bincount(there, weighed, _size(texts))
    squared = float((weighed * total.take(there)).sum())
    if squared <= 0:
        return np.zeros(len(weights), np.float32)
    dots = texts.per_page(texts.values * total.take(texts.places))
    # Removing a page of length 1 and weight w from the sum takes w off the dot product.
    others = np.sqrt(np.maximum(squared - 2 * weights * dots + weights * weights, 0.0))
    likeness = np.where(others > 1e-3, (dots - weights) / np.maximum(others, 1e-3), 0.0)
    return likeness.astype(np.float32)


def _size(*groups: _Texts) -> int:
    return max((int(each.places.max()) for each in groups if len(each.places)), default=0) + 1
