"""Term selection for queries: by frequency, by tf-idf, by Kullback-Leibler divergence.

Martinez-Romo and Araujo (section 6) found divergence against a large collection best for link contexts and copies
of the lost page, divergence against a collection of URLs for URL words, plain frequency for the page the link is
on. Bashir (section 4) leaves out terms that 40 % of the pages have. Klein's lexical signature is the five or seven
terms of highest tf-idf. Frequencies of the collection come in as functions, so nothing here does I/O.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

Weighted = tuple[tuple[str, float], ...]
"""Terms and their weights, the heaviest first; ties in alphabetical order, so that the order is stable."""
Frequency = Callable[[str], int]
"""How often a term occurs, in pages (df) or in all (cf)."""
Background = Callable[[str], float]
"""The background probability of a term."""

COMMON = 0.4
"""Terms that this share of the pages has say nothing about a single page."""
SIGNATURES = (5, 7)
"""Lengths of lexical signatures that find a page again most often."""


def drop_common(terms: Iterable[str], df: Frequency, pages: int, *, common: float = COMMON) -> list[str]:
    """The terms, in order and with repetitions, without those that `common` of all pages have."""
    return [term for term in terms if df(term) < common * pages] if pages > 0 else list(terms)


def by_frequency(terms: Iterable[str], limit: int) -> Weighted:
    """The most frequent terms; weights are counts."""
    return heaviest({term: float(count) for term, count in Counter(terms).items()}, limit)


def by_tf_idf(terms: Iterable[str], df: Frequency, pages: int, limit: int) -> Weighted:
    """Terms by tf * ln(N / df); one that no page has counts as if one had it."""
    return heaviest(
        {
            term: count * math.log(max(pages, 1) / _at_least_1(df(term), pages))
            for term, count in Counter(terms).items()
        },
        limit,
    )


def by_divergence(terms: Iterable[str], background: Background, limit: int) -> Weighted:
    """Terms by p(t) ln(p(t) / background(t)), their part of the divergence of the text from all texts.

    Terms that are rarer in the text than in the background add nothing and are left out.
    """
    counts = Counter(terms)
    length = sum(counts.values())
    weights = {}
    for term, count in counts.items():
        share, elsewhere = count / length, background(term)
        if share > elsewhere > 0:
            weights[term] = share * math.log(share / elsewhere)
    return heaviest(weights, limit)


def lexical_signature(terms: Iterable[str], df: Frequency, pages: int, size: int = SIGNATURES[0]) -> Weighted:
    """The terms by which a page can be found again."""
    return by_tf_idf(terms, df, pages, size)


def background_of(frequency: Frequency, total: int) -> Background:
    """A language model from counts: of a field's terms in all pages, or (for URLs) of the field `url`.

    A term never seen counts as half of one seen once; nothing is impossible.
    """

    def probability(term: str) -> float:
        return max(frequency(term), 0.5) / max(total, 1)

    return probability


def heaviest(weights: Mapping[str, float], limit: int) -> Weighted:
    """The terms of most weight, without those of none."""
    order = sorted(weights.items(), key=lambda pair: (-pair[1], pair[0]))
    return tuple((term, weight) for term, weight in order[: max(limit, 0)] if weight > 0)


def _at_least_1(frequency: int, pages: int) -> int:
    """A document frequency clamped to 1..N: counts may be a little behind or ahead of each other."""
    return min(max(frequency, 1), max(pages, 1))
