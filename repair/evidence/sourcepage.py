"""The source page: what the page with the link is about, by its title and its most frequent terms."""

from collections import Counter
from functools import lru_cache
from typing import Protocol

from repair.model import BrokenLink, Evidence, HeldPage
from repair.text import words

_TERMS = 15
_CHARACTERS = 8_000  # enough to know what a page is about


class SourcePageLookup(Protocol):
    """Has the saved pages."""

    def get(self, url: str) -> HeldPage | None:
        """The page saved under a URL."""


class SourcePage:
    """The page the click came from, when it is saved."""

    name = "source"

    def __init__(self, collection: SourcePageLookup) -> None:
        self._collection = collection

    def find(self, link: BrokenLink) -> Evidence | None:
        """The most used terms of the source page, weighted by frequency."""
        page = self._collection.get(link.source_url) if link.source_url else None
        if page is None:
            return None
        terms = _commonest_terms(page.title, page.text[:_CHARACTERS], page.language)
        return Evidence(source=self.name, terms=terms, text=page.title) if terms else None


# A class follows the dead links of one worksheet one after the other.
@lru_cache(maxsize=64)
def _commonest_terms(title: str, text: str, language: str) -> tuple[tuple[str, float], ...]:
    counts = Counter(words.terms(text, language))
    for term in words.terms(title, language):
        counts[term] += 1
    commonest = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:_TERMS]
    return tuple((term, count / commonest[0][1]) for term, count in commonest)
