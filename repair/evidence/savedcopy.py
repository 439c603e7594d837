"""The held copy: what a page said that we kept and its site has lost.

Its title names it (Klein: titles find a lost page as often as anything), unless it is one that says nothing; then its
lexical signature does. Behind both come the terms that set the page apart from all others.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from repair import words
from repair.model import BrokenLink, Evidence, HeldPage
from repair.selection import Weighted, background_of, by_divergence, lexical_signature, telling
from repair.titles import is_stop_title

_SIGNATURE = 7
_TERMS = 40
_CHARACTERS = 20_000
_TERMS_OF_A_PAGE = 200  # different ones, roughly; a constant factor of all background probabilities
# What the heaviest term of each part weighs.
_TITLE_WEIGHT = 1.0
_SIGNATURE_WEIGHT = 0.8
_MODEL_WEIGHT = 0.5


class Holdings(Protocol):
    """Who holds pages and knows how common terms are."""

    def get(self, url: str) -> HeldPage | None:
        """What is held under a URL."""

    def document_frequency(self, term: str, name: str = "body") -> int:
        """In how many pages a field has a term."""

    def size(self) -> int:
        """How many pages there are."""


class OwnCopy:
    """A source of evidence."""

    name = "copy"

    def __init__(self, collection: Holdings, is_stop_title: Callable[[str], bool] = is_stop_title) -> None:
        self._collection = collection
        self._is_stop_title = is_stop_title

    def find(self, link: BrokenLink) -> Evidence | None:
        """Terms of title, signature and text, the heaviest first; None when no page is held at the address."""
        page = self._collection.get(link.url)
        if page is None:
            return None
        text = page.text[:_CHARACTERS]
        title = "" if self._is_stop_title(page.title) else " ".join(page.title.split())
        signature, model = self._said(words.terms(text, page.language))
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

    def _said(self, terms: Sequence[str]) -> tuple[Weighted, Weighted]:
        """The lexical signature and the language model of a text."""
        size = self._collection.size()
        frequencies = {term: self._collection.document_frequency(term) for term in set(terms)}
        df = frequencies.__getitem__
        kept = telling(terms, df, size)
        background = background_of(df, max(1, size) * _TERMS_OF_A_PAGE)
        return lexical_signature(kept, df, size, _SIGNATURE), by_divergence(kept, background, _TERMS)


def _as_written(text: str, terms: Sequence[str]) -> list[str]:
    """For each term the word that stands for it first."""
    found: dict[str, str] = {}
    for start, end, term in words.located_terms(text):
        found.setdefault(term, text[start:end])
    return [found.get(term, term) for term in terms]
