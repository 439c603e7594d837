"""The saved copy: the content of a page that we saved before its site lost it.

Its title names it (Klein: titles find a lost page as often as anything), unless it is a stop title; then its
lexical signature does. After both come the terms that distinguish the page from all others.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from repair.model import BrokenLink, Evidence, HeldPage
from repair.text import words
from repair.text.stoptitles import is_stop_title
from repair.text.termselection import Weighted, background_of, by_divergence, drop_common, lexical_signature

_SIGNATURE = 7
_TERMS = 40
_CHARACTERS = 20_000
_TERMS_OF_A_PAGE = 200  # different terms, roughly; a constant factor of all background probabilities
# The weight of the heaviest term of each part.
_TITLE_WEIGHT = 1.0
_SIGNATURE_WEIGHT = 0.8
_MODEL_WEIGHT = 0.5


class CopyLookup(Protocol):
    """Has the saved pages and knows how common terms are."""

    def get(self, url: str) -> HeldPage | None:
        """The page saved under a URL."""

    def document_frequency(self, term: str, name: str = "body") -> int:
        """How many pages have a term in a field."""

    def size(self) -> int:
        """How many pages there are."""


class SavedCopy:
    """An evidence source."""

    name = "copy"

    def __init__(self, collection: CopyLookup, is_stop_title: Callable[[str], bool] = is_stop_title) -> None:
        self._collection = collection
        self._is_stop_title = is_stop_title

    def find(self, link: BrokenLink) -> Evidence | None:
        """Terms of title, signature and text, the heaviest first; None when no page is saved under the URL."""
        page = self._collection.get(link.url)
        if page is None:
            return None
        text = page.text[:_CHARACTERS]
        title = "" if self._is_stop_title(page.title) else " ".join(page.title.split())
        signature, model = self._distinctive_terms(words.terms(text, page.language))
        weights: dict[str, float] = dict.fromkeys(words.terms(title, page.language), _TITLE_WEIGHT)
        for part, weight in ((signature, _SIGNATURE_WEIGHT), (model, _MODEL_WEIGHT)):
            for term, strength in part:
                weights[term] = max(weights.get(term, 0.0), weight * strength / part[0][1])
        if not weights:
            return None
        heaviest = sorted(weights.items(), key=lambda pair: (-pair[1], pair[0]))[:_TERMS]
        return Evidence(
            source=self.name,
            terms=tuple(heaviest),
            text=title or " ".join(_as_written(text, [term for term, _ in signature])),
        )

    def _distinctive_terms(self, terms: Sequence[str]) -> tuple[Weighted, Weighted]:
        """The lexical signature and the most divergent terms of a text."""
        size = self._collection.size()
        frequencies = {term: self._collection.document_frequency(term) for term in set(terms)}
        df = frequencies.__getitem__
        kept = drop_common(terms, df, size)
        background = background_of(df, max(1, size) * _TERMS_OF_A_PAGE)
        return lexical_signature(kept, df, size, _SIGNATURE), by_divergence(kept, background, _TERMS)


def _as_written(text: str, terms: Sequence[str]) -> list[str]:
    """For each term the first word with it."""
    found: dict[str, str] = {}
    for start, end, term in words.located_terms(text):
        found.setdefault(term, text[start:end])
    return [found.get(term, term) for term in terms]
