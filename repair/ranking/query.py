"""Evidence to a Query: the terms for the index, and the words a person may edit.

The terms of each source share a total weight: forty words around a link must not outweigh the two words on it.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from repair.model import BrokenLink, Evidence, Query
from repair.text import words

STRONG = ("anchor", "inlinks", "url")
"""Sources that name the lost page; the others only say what is near it."""
NAMING = ("copy", *STRONG)
"""Sources whose text is a name of the lost page, the best first."""
_NOT_QUERIED = frozenset({"neighbourhood"})  # repeats "inlinks" in fewer words

# The largest weight of one term, and of all terms of the source together.
MASSES: Mapping[str, tuple[float, float]] = MappingProxyType(
    {
        "copy": (1.0, 8.0),
        "anchor": (1.0, 6.0),
        "inlinks": (1.0, 6.0),
        "url": (0.8, 4.0),
        "context": (0.15, 1.0),
        "source": (0.1, 0.6),
        "tags": (0.2, 1.0),
    }
)
_KEYWORDS = 12


def formulate(link: BrokenLink, evidence: Iterable[Evidence]) -> Query:
    """One query from all evidence; its text is the best short name of the lost page, "" when there is none.

    Of two pieces from sources of one name (the saved copy, an archived copy) only the first counts.
    """
    by_source: dict[str, Evidence] = {}
    for piece in evidence:
        by_source.setdefault(piece.source, piece)
    pieces = tuple(by_source.values())
    weights: dict[str, float] = {}
    for piece in pieces:
        if piece.source in _NOT_QUERIED:
            continue
        for term, weight in _share_weight(piece):
            weights[term] = weights.get(term, 0.0) + weight
    text = next((by_source[name].text for name in NAMING if name in by_source and by_source[name].text), "")
    return Query(terms=tuple(weights.items()), text=text, evidence=pieces)


def keywords(query: Query) -> tuple[str, ...]:
    """The words of the evidence that names the page, as written, each term once."""
    found: dict[str, str] = {}
    for piece in query.evidence:
        if piece.source not in NAMING:
            continue
        terms = {term for term, _ in piece.terms}
        for word in words.tokens(piece.text):
            for term in words.terms(word):
                if term in terms:
                    found.setdefault(term, word)
    return tuple(found.values())[:_KEYWORDS]


def texts(query: Query) -> dict[str, str]:
    """The text of each source, for people and for the JSON answer."""
    return {piece.source: piece.text for piece in query.evidence if piece.text}


def _share_weight(piece: Evidence) -> list[tuple[str, float]]:
    each, together = MASSES.get(piece.source, (0.1, 0.5))
    total = sum(weight for _, weight in piece.terms) * each
    factor = each * min(1.0, together / total) if total > 0 else 0.0
    return [(term, weight * factor) for term, weight in piece.terms]
