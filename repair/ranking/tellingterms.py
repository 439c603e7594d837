"""Which words of a link say something here: not *page*, *site*, *index*, nor what every fifth page has."""

from typing import Protocol

from repair.model import Query
from repair.ranking.query import NAMING
from repair.text import words

_COMMON_SHARE = 0.2
_COMMON_PAGES = 10  # in a small collection, so many pages with a word do not make it common
_WEB_WORDS = frozenset(
    words.terms("page pages site sites website index home homepage welcome default main web html link links")
)


class TermFrequencies(Protocol):
    """A collection."""

    def document_frequency(self, term: str, name: str = "body") -> int: ...

    def size(self) -> int: ...


def telling_terms(collection: TermFrequencies, query: Query) -> tuple[str, ...]:
    """The terms of what names the lost page (its copy, anchors, address), each once, without common ones."""
    named = dict.fromkeys(
        term for piece in query.evidence if piece.source in NAMING for term, _ in piece.terms
    )
    most = max(_COMMON_PAGES, _COMMON_SHARE * collection.size())
    return tuple(
        term for term in named if term not in _WEB_WORDS and collection.document_frequency(term) <= most
    )
