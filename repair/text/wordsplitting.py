"""Splits words written without spaces, by the document frequencies of the collection.

`watercycle` in a URL is `water cycle` if pages of the collection have these words. Of all ways to cut it the
likeliest wins: the one whose words, drawn at random from the collection, occur most often together. Each cut
has its price, so that a word that the collection knows as a whole stays whole.
"""

import math
from collections.abc import Callable
from functools import lru_cache

from repair.text import words
from repair.text.stopwords import ENGLISH

_LEAST_WHOLE, _MOST_WHOLE = 6, 40
_LEAST_PIECE, _MOST_PIECE = 3, 20
_MEAN_PIECE = 3.5
_LEAST_PAGES = 3  # a word of fewer pages may be a misspelling or a compound itself
_CUT_PRICE = 2.0  # in nats, on top of the cost of each word
_KNOWN_SHARE = 0.00005  # share of the pages from which a word is known as a whole
_CACHED = 16_384


class WordSplitter:
    """Splits compounds by document frequencies; `df` takes terms as `repair.text.words` makes them."""

    def __init__(self, df: Callable[[str], int], pages: Callable[[], int]) -> None:
        self._df = df
        self._pages = pages
        self._price = lru_cache(maxsize=_CACHED)(self._compute_cost)
        self.split = lru_cache(maxsize=_CACHED)(self._split)
        """The words of a compound, in order; the word alone when it is known or cannot be split completely."""

    def _split(self, word: str) -> tuple[str, ...]:
        word = word.lower()
        if not (_LEAST_WHOLE <= len(word) <= _MOST_WHOLE and word.isalpha() and word.isascii()):
            return (word,)
        whole = self._frequency(word)
        if whole >= max(_LEAST_PAGES, _KNOWN_SHARE * self._pages()):
            return (word,)
        return self._cheapest(word) or (word,)

    def _cheapest(self, word: str) -> tuple[str, ...]:
        """The cheapest way to build the word from known ones; empty when there is none or it is one word."""
        best: list[tuple[float, tuple[str, ...]]] = [(0.0, ())]
        for end in range(1, len(word) + 1):
            ways = [
                (cost + self._price(word[start:end]), (*pieces, word[start:end]))
                for start, (cost, pieces) in enumerate(best)
                if end - start <= _MOST_PIECE and math.isfinite(cost)
            ]
            best.append(min(ways, default=(math.inf, ())))
        cost, pieces = best[-1]
        return pieces if math.isfinite(cost) and _is_likely(pieces) else ()

    def _compute_cost(self, piece: str) -> float:
        """The cost of a word: its surprisal; words of one or two letters must be known joining words."""
        if len(piece) < _LEAST_PIECE:
            return _CUT_PRICE + 5.0 if piece in _SMALL else math.inf
        frequency = self._frequency(piece)
        if frequency < _LEAST_PAGES:
            # Stop words are not in the index, but they occur in compounds ("worldofwater").
            return _CUT_PRICE + 5.0 if piece in ENGLISH else math.inf
        return _CUT_PRICE - math.log(min(1.0, frequency / max(1, self._pages())))

    def _frequency(self, word: str) -> int:
        found = words.terms(word)
        return self._df(found[0]) if len(found) == 1 else 0


def _is_likely(pieces: tuple[str, ...]) -> bool:
    """Whether people form compounds so: rare names can be built from short words too ("tri chi nos is")."""
    letters = sum(map(len, pieces))
    return len(pieces) > 1 and letters >= _MEAN_PIECE * len(pieces) and len(pieces[0]) > 1 < len(pieces[-1])


_SMALL = frozenset(("a", "i", "of", "in", "on", "to", "by", "an", "at", "is", "my", "or"))
