"""Short texts as vectors of unit length: each term by how rare it is in the collection."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

Vector = Mapping[str, float]


class TermWeights:
    """Weighs terms by their inverse document frequency."""

    def __init__(self, frequency: Callable[[str], int], pages: int) -> None:
        """`frequency` gives the number of pages that have a term, of so many `pages`."""
        self._frequency = frequency
        self._pages = pages
        self._known: dict[str, float] = {}

    def vector(self, terms: Iterable[str]) -> dict[str, float]:
        """Terms as a vector; empty without terms."""
        return unit({term: self._rarity(term) * (1 + math.log(n)) for term, n in Counter(terms).items()})

    def _rarity(self, term: str) -> float:
        if term not in self._known:
            self._known[term] = math.log1p((self._pages + 1) / (self._frequency(term) + 0.5))
        return self._known[term]


def unit(vector: Vector) -> dict[str, float]:
    """The vector with length 1."""
    length = math.sqrt(sum(value * value for value in vector.values()))
    return {term: value / length for term, value in vector.items()} if length else {}


def cosine(one: Vector, other: Vector) -> float:
    """The cosine of two vectors of unit length."""
    if len(one) > len(other):
        one, other = other, one
    return sum(value * other.get(term, 0.0) for term, value in one.items())


def total(vectors: Iterable[Vector], *, most: int = 300) -> dict[str, float]:
    """The sum of vectors as a vector, of the `most` heaviest terms."""
    summed: dict[str, float] = {}
    for vector in vectors:
        for term, value in vector.items():
            summed[term] = summed.get(term, 0.0) + value
    heaviest = sorted(summed.items(), key=lambda item: (-item[1], item[0]))
    return unit(dict(heaviest[:most]))
