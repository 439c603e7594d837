"""The source page: what the page with the link is about, by its title and its most frequent terms."""

from collections import Counter
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
        counts = Counter(words.terms(page.text[:_CHARACTERS], page.language))
        for term in words.terms(page.title, page.language):
            counts[term] += 1
        commonest = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:_TERMS]
        if not commonest:
            return None
        top = commonest[0][1]
        return Evidence(
            source=self.name, terms=tuple((term, count / top) for term, count in commonest), text=page.title
        )
