"""Near-duplicates: pages that say nearly the same, found by fingerprints of 64 bits and checked by exact measures.

A fingerprint is Charikar's simhash over the terms of a text and over pairs of neighbouring terms: texts that share
most of them differ in few bits. All fingerprints of a collection fit into memory (300,000 pages: 5 MB), and
comparing one with all of them takes two milliseconds at any distance, so no index over bands of bits is needed.
A short text has too few terms for its bits to mean much; it gets no fingerprint.
"""

import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import sqrt

import numpy as np
import numpy.typing as npt

Prints = npt.NDArray[np.uint64]

LEAST_TERMS = 20
"""Texts shorter than this have no fingerprint."""
NEAR = 10
"""The most bits in which near-duplicates differ; of other pages about 1 in 10,000 do."""
SAME = 3
"""The most bits in which the same page under two addresses differs."""

_SHIFTS = np.arange(64, dtype=np.uint64)
_MULTIPLIERS = np.uint64(0x9E3779B97F4A7C15)
_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


def fingerprint(terms: Sequence[str]) -> int | None:
    """The simhash of a text's terms, in order; None when there are too few."""
    if len(terms) < LEAST_TERMS:
        return None
    words = np.fromiter((zlib.crc32(term.encode("utf-8", "replace")) for term in terms), dtype=np.uint64)
    features = _mix_bits(np.concatenate((words, words[:-1] * _MULTIPLIERS + words[1:] + np.uint64(1))))
    # Each feature once: a word repeated a hundred times must not drown the rest.
    # (numpy's `unique` hashes them, which takes longer.)
    features.sort()
    features = features[np.concatenate(([True], features[1:] != features[:-1]))]
    each_bit = np.unpackbits(features.astype("<u8").view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")
    ones = each_bit.sum(axis=0, dtype=np.int32)
    bits = (2 * ones > len(features)).astype(np.uint64)
    return int((bits << _SHIFTS).sum(dtype=np.uint64))


def distance(left: int, right: int) -> int:
    """In how many bits two fingerprints differ."""
    return (left ^ right).bit_count()


class SamePages:
    """Fingerprints of pages that come one by one, to find those that differ in at most `SAME` bits.

    Such two are equal in at least one of four bands of 16 bits, so few have to be compared.
    """

    def __init__(self) -> None:
        self._bands: dict[tuple[int, int], list[int]] = {}

    def add(self, value: int) -> None:
        """Remember one more."""
        for band in _bands(value):
            self._bands.setdefault(band, []).append(value)

    def has_near(self, wanted: int) -> bool:
        """Whether one of them is nearly the same."""
        return any(
            distance(wanted, value) <= SAME for band in _bands(wanted) for value in self._bands.get(band, ())
        )


def _bands(value: int) -> tuple[tuple[int, int], ...]:
    return tuple((band, value >> 16 * band & 0xFFFF) for band in range(SAME + 1))


class Fingerprints:
    """The fingerprints of many pages, side by side."""

    def __init__(self, prints: Iterable[tuple[int, int]] = ()) -> None:
        rows = list(prints)
        self._pages = np.array([page for page, _ in rows], dtype=np.int64)
        self._prints: Prints = np.array([value for _, value in rows], dtype=np.uint64)

    def __len__(self) -> int:
        return len(self._pages)

    def merge(self, others: "Fingerprints") -> "Fingerprints":
        """These and others; for a page in both, the other's fingerprint."""
        made, stay = Fingerprints(), ~np.isin(self._pages, others._pages)
        made._pages = np.concatenate((self._pages[stay], others._pages))
        made._prints = np.concatenate((self._prints[stay], others._prints))
        return made

    def near(self, wanted: int, *, within: int = NEAR, limit: int = 20) -> tuple[tuple[int, int], ...]:
        """Pages and distances of those that differ in at most `within` bits, nearest first."""
        distances = bit_counts(self._prints ^ np.uint64(wanted))
        found = np.flatnonzero(distances <= within)
        order = found[np.lexsort((self._pages[found], distances[found]))][:limit]
        return tuple((int(self._pages[at]), int(distances[at])) for at in order)


def bit_counts(values: Prints) -> npt.NDArray[np.uint8]:
    """How many bits of each number are set; by halves, so that it works before numpy 2 too."""
    one, two, four = (
        np.uint64(0x5555555555555555),
        np.uint64(0x3333333333333333),
        np.uint64(0x0F0F0F0F0F0F0F0F),
    )
    values = values - ((values >> np.uint64(1)) & one)
    values = (values & two) + ((values >> np.uint64(2)) & two)
    values = (values + (values >> np.uint64(4))) & four
    return ((values * np.uint64(0x0101010101010101)) >> np.uint64(56)).astype(np.uint8)


def shingles(terms: Sequence[str], size: int = 3) -> frozenset[tuple[str, ...]]:
    """The n-grams of `size` neighbouring terms; the whole text when it is shorter."""
    if len(terms) <= size:
        return frozenset((tuple(terms),) if terms else ())
    return frozenset(zip(*(terms[start:] for start in range(size)), strict=False))


def resemblance(left: frozenset[tuple[str, ...]], right: frozenset[tuple[str, ...]]) -> float:
    """Broder's resemblance: shared shingles over all shingles."""
    union = len(left | right)
    return len(left & right) / union if union else 0.0


def cosine(left: Mapping[str, float], right: Mapping[str, float]) -> float:
    """Cosine of two term vectors (Martinez-Romo and Araujo, equation 4)."""
    norms = sqrt(_square(left) * _square(right))
    return min(1.0, _product(left, right) / norms) if norms else 0.0


def dice(left: Mapping[str, float], right: Mapping[str, float]) -> float:
    """Dice's coefficient of two term vectors (equation 3)."""
    squares = _square(left) + _square(right)
    return min(1.0, 2 * _product(left, right) / squares) if squares else 0.0


def tanimoto(left: Mapping[str, float], right: Mapping[str, float]) -> float:
    """Tanimoto's coefficient of two term vectors (equation 2)."""
    product = _product(left, right)
    union = _square(left) + _square(right) - product
    return min(1.0, product / union) if union > 0 else 0.0


def vector(terms: Iterable[str]) -> Mapping[str, float]:
    """A text as term frequencies, for the measures above."""
    return {term: float(count) for term, count in Counter(terms).items()}


def _product(left: Mapping[str, float], right: Mapping[str, float]) -> float:
    short, long = sorted((left, right), key=len)
    return sum(weight * long[term] for term, weight in short.items() if term in long)


def _square(weights: Mapping[str, float]) -> float:
    return sum(weight * weight for weight in weights.values())


def _mix_bits(values: Prints) -> Prints:
    """Numbers spread over all 64 bits (the finaliser of splitmix64); overflow is intended."""
    values = (values ^ (values >> np.uint64(30))) * _MIX[0]
    values = (values ^ (values >> np.uint64(27))) * _MIX[1]
    return values ^ (values >> np.uint64(31))
