"""Features: what speaks for each candidate, as one matrix, candidates by FEATURES.

Every clue (`repair.clues`) is held against every field of the candidate by several scores, each brought to about
0..1 by what a perfect match would have; names are compared as strings, addresses by their build. To these raw
values come the same normalised per query (over the best candidate's), since what counts is mostly who is best.

Not held against each other: other links' words and the candidate's anchor index. While a page still stands where its
links lead, both are the same links, and comparing them would be looking the address up.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from rapidfuzz.distance import JaroWinkler

from repair import scores
from repair.clues import NAMES, Clues
from repair.pages import Brief
from repair.structure import Likeness, agreeing, build, likeness_of, squeezed
from repair.urls import directory
from repair.vectors import FIELDS, Hashes, Statistics, Vectors, hashes

Matrix = npt.NDArray[np.floating[Any]]

_TITLE, _URL, _ANCHORS, _NAMES, _BODY, _LINKS = (
    FIELDS.index(name) for name in ("title", "url", "anchors", "names", "body", "links")
)
_FIELD_NAMES = {_TITLE: "title", _URL: "url", _ANCHORS: "anchors", _BODY: "body"}
_MAX_PARTS = 16
_TITLED = ("anchor", "slug", "dirs", "inlinks")
_ONLY_TEXT = ("inlinks", "around")

_MATCHED = [
    f"{clue}.{_FIELD_NAMES[field]}"
    for field in _FIELD_NAMES
    for clue in NAMES
    if not (field == _ANCHORS and clue in _ONLY_TEXT)
]
_MODELLED = [f"{clue}.lm" for clue in NAMES]
_PRECISE = [f"{clue}.title_dice" for clue in _TITLED] + [f"{clue}.title_all" for clue in _TITLED]
_COVERED = [f"{clue}.body_all" for clue in _TITLED]
_NAMED = [
    "anchor=title",
    "anchor~title",
    "slug=title",
    "slug~title",
    "tail=title",
    "tail~title",
    "names=title",
    "names~title",
]
_PRIORS = ["body_length", "anchors_length", "title_length", "links_here", "links_directory"]
_CALLED = ["anchor.called", "anchor.calls", "slug.called", "tail.called"]
_ADDRESSES = [
    f"address.{name}" for name in (*Likeness._fields, "parts_kept", "parts_old", "source_directory")
]
_MOVED = ["move.confidence", "move.support"]

RAW = (*_MATCHED, *_MODELLED, *_PRECISE, *_COVERED, *_NAMED, *_CALLED, *_PRIORS, *_ADDRESSES, *_MOVED)
_NORMALISED = (*_MATCHED, *_MODELLED, *_PRECISE, *_COVERED, *_NAMED, *_CALLED, "links_directory", *_ADDRESSES)
_KNOWN = ("known.inlinks", "known.anchor_terms", "known.slug_terms", "known.urls", "known.anchors")
FEATURES: tuple[str, ...] = (*RAW, *(f"{name}/best" for name in _NORMALISED), *_KNOWN)

_NORMALISED_AT = [RAW.index(name) for name in _NORMALISED]
_PATH_AT, _ANCHORED_AT = RAW.index("address.path"), RAW.index("anchors_length")


class Measurable(Protocol):
    """Who has the vectors of pages."""

    def vectors(self, pages: Sequence[int]) -> Vectors:
        """The vectors of pages, in their order."""

    def statistics(self, terms: Hashes, fields: Sequence[int]) -> Statistics:
        """How common terms are in some of the fields."""


def features(collection: Measurable, clues: Clues, pages: Sequence[Brief]) -> Matrix:
    """One row per page, one column per name in FEATURES."""
    if not pages:
        return np.zeros((0, len(FEATURES)), np.float32)
    asked = _Asked(clues)
    vectors = collection.vectors([page.page for page in pages])
    statistics = collection.statistics(asked.hashes, (_BODY,))
    raw = np.concatenate(
        (
            _text_features(asked, vectors, statistics),
            _name_features(clues, pages),
            _called_features(asked, clues, vectors),
            _prior_features(asked, vectors),
            _address_features(clues, pages),
            _move_features(clues, pages),
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


class _Asked:
    """The terms of all clues side by side, and two for the links field."""

    def __init__(self, clues: Clues) -> None:
        terms = {
            term: at
            for at, term in enumerate(dict.fromkeys(t for each in clues.terms.values() for t in each))
        }
        self.weights = np.zeros((len(NAMES), len(terms)), np.float32)
        for row, name in enumerate(NAMES):
            for term, weight in clues.terms.get(name, {}).items():
                self.weights[row, terms[term]] = weight
        self.sizes = (self.weights > 0).sum(axis=1).astype(np.float32)
        self.count = len(terms)
        self.hashes = hashes(terms)
        self.linked = hashes((clues.link.url, directory(clues.link.url)))

    def frequencies(self, vectors: Vectors, wanted: Hashes) -> npt.NDArray[np.float32]:
        """Exact tf by field, page and wanted term."""
        order = np.argsort(wanted)
        ranked = wanted[order]
        table = np.zeros((len(FIELDS), len(vectors.pages), len(wanted)), np.float32)
        if not len(wanted):
            return table
        # A cheap sieve first: most entries are of terms that nobody asks for.
        sieve = np.zeros(65_536, dtype=bool)
        sieve[wanted & 0xFFFF] = True
        kept = np.flatnonzero(sieve[vectors.term & 0xFFFF])
        terms = vectors.term[kept]
        places = np.minimum(np.searchsorted(ranked, terms), len(wanted) - 1)
        right = ranked[places] == terms
        kept, places = kept[right], order[places[right]]
        segment = vectors.segment[kept]
        table[segment % len(FIELDS), segment // len(FIELDS), places] = vectors.tf[kept]
        return table


def _text_features(asked: _Asked, vectors: Vectors, statistics: Statistics) -> Matrix:
    tf = asked.frequencies(vectors, asked.hashes)
    rarity = scores.idf(statistics.df[_BODY], statistics.pages)
    whole = np.maximum((asked.weights * rarity).sum(axis=1), 1e-6)
    columns: list[Matrix] = []
    for field in _FIELD_NAMES:
        matched = scores.bm25(
            tf[field], vectors.lengths[:, field], statistics.mean_length(field), rarity, asked.weights
        )
        kept = [row for row, name in enumerate(NAMES) if not (field == _ANCHORS and name in _ONLY_TEXT)]
        columns.append((matched / whole)[:, kept])
    background = statistics.cf[_BODY] / max(1, statistics.lengths[_BODY])
    modelled = scores.dirichlet(tf[_BODY], vectors.lengths[:, _BODY], background, asked.weights)
    columns.append(modelled / np.maximum(asked.weights.sum(axis=1), 1e-6))
    titled = [NAMES.index(name) for name in _TITLED]
    common = scores.shared(tf[_TITLE], asked.weights[titled])
    columns.append(scores.dice(common, vectors.distinct[:, _TITLE], asked.sizes[titled]))
    columns.append(common / np.maximum(vectors.distinct[:, _TITLE], 1)[:, None])
    columns.append(scores.coverage(tf[_BODY] + tf[_TITLE], rarity, asked.weights[titled]))
    return np.concatenate(columns, axis=1)


def _name_features(clues: Clues, pages: Sequence[Brief]) -> Matrix:
    rows = np.zeros((len(pages), len(_NAMED)), np.float32)
    names = dict(clues.names)
    commonest = clues.names[0][0] if clues.names else ""
    for row, page in enumerate(pages):
        title = squeezed(page.title)
        if not title:
            continue
        for column, name in enumerate((clues.anchor_name, clues.slug_name, clues.tail_name)):
            if name:
                rows[row, 2 * column] = name == title
                rows[row, 2 * column + 1] = JaroWinkler.similarity(name, title)
        rows[row, 6] = names.get(title, 0.0)
        if commonest:
            rows[row, 7] = JaroWinkler.similarity(commonest, title)
    return rows


def _prior_features(asked: _Asked, vectors: Vectors) -> Matrix:
    linked = asked.frequencies(vectors, asked.linked)[_LINKS]
    links = np.maximum(vectors.lengths[:, _LINKS] / 2, 1)
    columns = (
        np.log1p(vectors.lengths[:, _BODY]),
        np.log1p(vectors.lengths[:, _ANCHORS]),
        vectors.lengths[:, _TITLE],
        np.minimum(linked[:, 0], 1),
        linked[:, 1] / links,
    )
    return np.stack(columns, axis=1).astype(np.float32)


def _called_features(asked: _Asked, clues: Clues, vectors: Vectors) -> Matrix:
    """Whether others call the candidate by the very words of the link or of the address, and how many do."""
    names = (clues.anchor_name or "\0", clues.slug_name or "\0", clues.tail_name or "\0")
    tf = asked.frequencies(vectors, hashes(dict.fromkeys(names)))[_NAMES]
    places = {name: at for at, name in enumerate(dict.fromkeys(names))}
    anchor, slug, tail = (tf[:, places[name]] for name in names)
    total = np.maximum(vectors.lengths[:, _NAMES], 1)
    return np.stack((anchor / total, np.log1p(anchor), slug / total, tail / total), axis=1)


def _address_features(clues: Clues, pages: Sequence[Brief]) -> Matrix:
    lost = build(clues.link.url)
    source = build(clues.link.source_url) if clues.link.source_url else None
    rows = np.zeros((len(pages), len(_ADDRESSES)), np.float32)
    for row, page in enumerate(pages):
        found = build(page.url)
        if lost is None or found is None or not clues.compare_addresses:
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


def _kept(old: Sequence[str], new: Sequence[str]) -> int:
    """How many parts of a path the new one has in the same order: directories put in between do not count."""
    row = [0] * (len(new) + 1)
    for part in old[:_MAX_PARTS]:
        diagonal = 0
        for at, other in enumerate(new[:_MAX_PARTS], start=1):
            above = row[at]
            row[at] = diagonal + 1 if part == other else max(above, row[at - 1])
            diagonal = above
    return max(row)


def _move_features(clues: Clues, pages: Sequence[Brief]) -> Matrix:
    rows = np.zeros((len(pages), 2), np.float32)
    for row, page in enumerate(pages):
        guess = clues.moves.get(page.url)
        if guess is not None:
            rows[row] = guess.confidence, np.log1p(guess.support)
    return rows


def _counts(clues: Clues) -> tuple[float, float, float]:
    """What there is to go by at all, the same for all candidates: so that a model can weigh the rest by it."""
    sizes: Mapping[str, int] = {name: len(terms) for name, terms in clues.terms.items()}
    return float(np.log1p(clues.inlink_count)), float(sizes.get("anchor", 0)), float(sizes.get("slug", 0))
