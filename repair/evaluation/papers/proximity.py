"""Bashir's proximity features f1 to f6 (2018, section 6): how near terms of a page are to those of anchor or URL.

For every distinct term of the source page and a set s of seed terms, by their positions in the page:

    f1  mean over s of the least distance to the seed term        f4  mean difference of mean positions
    f2  least summed distance to a pair of seed terms              f5  log mean share of a seed's occurrences met
    f3  mean summed distance to a pair of seed terms               f6  the same for pairs of seed terms

"Met" means within a window of twenty terms. The paper leaves three things open; here distances are log(1 + d), a seed
that the page does not have is as far away as the page is long, and logs are of at least 0.001.
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.float64]

NAMES = ("f1", "f2", "f3", "f4", "f5", "f6")
WINDOW = 20
_MAX_SEEDS = 8  # 28 pairs; the first terms of an anchor or a URL
_MAX_TERMS = 4_000  # of a page; terms further down are hardly about the link
_FLOOR = 0.001


def proximity(
    page: Sequence[str], seeds: Sequence[str], *, window: int = WINDOW
) -> tuple[tuple[str, ...], Rows]:
    """The distinct terms of a page without the seeds, and a row of f1 to f6 for each."""
    page = page[:_MAX_TERMS]
    wanted = tuple(dict.fromkeys(seeds))[:_MAX_SEEDS]
    terms = tuple(dict.fromkeys(page))
    number = {term: at for at, term in enumerate(terms)}
    ids = np.fromiter((number[term] for term in page), dtype=np.intp, count=len(page))
    kept = [at for at, term in enumerate(terms) if term not in wanted]
    if not kept or not wanted:
        return tuple(terms[at] for at in kept), np.zeros((len(kept), len(NAMES)))
    places = [
        np.flatnonzero(ids == number[seed]) if seed in number else np.array([], np.intp) for seed in wanted
    ]
    away = [_distances(each, len(page)) for each in places]
    rows = np.column_stack(
        (*_single(ids, len(terms), places, away, window), *_pairs(ids, len(terms), places, away, window))
    )
    return tuple(terms[at] for at in kept), rows[kept][:, (0, 3, 4, 1, 2, 5)]


def _distances(places: npt.NDArray[np.intp], length: int) -> npt.NDArray[np.float64]:
    """For every position of a page, the distance to the nearest of `places`."""
    if not len(places):
        return np.full(length, float(length))
    positions = np.arange(length)
    right = np.searchsorted(places, positions)
    before = positions - places[np.maximum(right - 1, 0)]
    after = places[np.minimum(right, len(places) - 1)] - positions
    return np.asarray(np.minimum(np.abs(before), np.abs(after)), dtype=np.float64)


def _single(
    ids: npt.NDArray[np.intp],
    size: int,
    places: Sequence[npt.NDArray[np.intp]],
    away: Sequence[npt.NDArray[np.float64]],
    window: int,
) -> tuple[Rows, Rows, Rows]:
    """f1, f4 and f5 of every term."""
    means = np.bincount(ids, np.arange(len(ids)), size) / np.bincount(ids, minlength=size)
    nearest, apart, met = np.zeros(size), np.zeros(size), np.zeros(size)
    for place, distance in zip(places, away, strict=True):
        nearest += np.log1p(_least(ids, size, distance))
        apart += np.log1p(np.abs(means - place.mean()) if len(place) else np.full(size, float(len(ids))))
        met += np.bincount(ids, distance <= window, size) / max(1, len(place))
    count = len(places)
    return nearest / count, apart / count, np.log(np.maximum(met / count, _FLOOR))


def _pairs(
    ids: npt.NDArray[np.intp],
    size: int,
    places: Sequence[npt.NDArray[np.intp]],
    away: Sequence[npt.NDArray[np.float64]],
    window: int,
) -> tuple[Rows, Rows, Rows]:
    """f2, f3 and f6 of every term; a single seed is paired with itself, so that these always exist."""
    numbers = list(combinations(range(len(places)), 2)) or [(0, 0)]
    least, total, met = np.full(size, np.inf), np.zeros(size), np.zeros(size)
    for one, other in numbers:
        distance = np.log1p(_least(ids, size, away[one] + away[other]))
        least = np.minimum(least, distance)
        total += distance
        both = np.maximum(away[one], away[other]) <= window
        met += np.bincount(ids, both, size) / max(1, len(places[one]) + len(places[other]))
    return least, total / len(numbers), np.log(np.maximum(met / len(numbers), _FLOOR))


def _least(ids: npt.NDArray[np.intp], size: int, values: npt.NDArray[np.float64]) -> Rows:
    """The smallest value over the positions of each term."""
    found = np.full(size, np.inf)
    np.minimum.at(found, ids, values)
    return found
