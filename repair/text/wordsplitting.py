"""Words written without the spaces between them, taken apart by what the collection itself says.

`watercycle` in an address is `water cycle` if pages of the collection have these words. Of all ways to cut it the
likeliest is taken: the one whose words, drawn at random from the collection, come up most often together. Each cut
has its price, so that a word that the collection knows as a whole stays whole.
"""

import math
from collections.abc import Callable
from functools import lru_cache

from repair import words
from repair.stopwords import ENGLISH

_LEAST_WHOLE, _MOST_WHOLE = 6, 40
_LEAST_PIECE, _MOST_PIECE = 3, 20
_MEAN_PIECE = 3.5
_LEAST_PAGES = 3  # what fewer pages have may be a misspelling or glued itself
_CUT_PRICE = 2.0  # in nats, on top of what each word costs
_KNOWN_WHOLE = 0.00005  # share of the pages from which a word is known as a whole
_REMEMBERED = 16_384


class Splitter:
    """Takes words apart by document frequencies; `df` is asked for terms as `repair.words` makes them."""

    def __init__(self, df: Callable[[str], int], pages: Callable[[], int]) -> None:
        self._df = df
        self._pages = pages
        self._price = lru_cache(maxsize=_REMEMBERED)(self._looked_up)
        self.split = lru_cache(maxsize=_REMEMBERED)(self._split)
        """The words glued in a word, in order; the word alone when it is known, or cannot be taken apart whole."""

    def _split(self, word: str) -> tuple[str, ...]:
        word = word.lower()
        if not (_LEAST_WHOLE <= len(word) <= _MOST_WHOLE and word.isalpha() and word.isascii()):
            return (word,)
        whole = self._frequency(word)
        if whole >= max(_LEAST_PAGES, _KNOWN_WHOLE * self._pages()):
            return (word,)
        return self._cheapest(word) or (word,)

    def _cheapest(self, word: str) -> tuple[str, ...]:
        """The cheapest way to make up the word of known ones; empty when there is none or it is one word."""
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

    def _looked_up(self, piece: str) -> float:
        """What a word costs: how surprising it is; joining words of one or two letters only if they are such."""
        if len(piece) < _LEAST_PIECE:
            return _CUT_PRICE + 5.0 if piece in _SMALL else math.inf
        frequency = self._frequency(piece)
        if frequency < _LEAST_PAGES:
            # Stop words are in no index, but glued in names ("worldofwater").
            return _CUT_PRICE + 5.0 if piece in ENGLISH else math.inf
        return _CUT_PRICE - math.log(min(1.0, frequency / max(1, self._pages())))

    def _frequency(self, word: str) -> int:
        found = words.terms(word)
        return self._df(found[0]) if len(found) == 1 else 0


def _is_likely(pieces: tuple[str, ...]) -> bool:
    """Whether this is how people glue words: rare names, too, can be made up of short ones ("tri chi nos is")."""
    letters = sum(map(len, pieces))
    return len(pieces) > 1 and letters >= _MEAN_PIECE * len(pieces) and len(pieces[0]) > 1 < len(pieces[-1])


_SMALL = frozenset(("a", "i", "of", "in", "on", "to", "by", "an", "at", "is", "my", "or"))
