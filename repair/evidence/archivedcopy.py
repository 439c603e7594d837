"""The archived copy: the content of the lost page, when a web archive has it.

Klein found its title the best query, unless it is a stop title, then the seven terms of highest tf-idf; pages
change their text sooner than their title, and after some five years a signature finds little. Martinez-Romo and
Araujo add the terms by which the copy diverges most from other texts. All three are one piece of evidence, in this
order.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from typing import Protocol

from repair.memento.model import MementoCopy
from repair.model import BrokenLink, Document, Evidence
from repair.text import termselection, words
from repair.text.stoptitles import is_stop_title

SIGNATURE = 7
MODEL_TERMS = 30
FRESH = timedelta(days=5 * 365)
"""How old a copy may be for its text to count in full."""
_TITLE_WEIGHT = 1.0
_SIGNATURE_WEIGHT = 0.8
_MODEL_WEIGHT = 0.5
_CHARACTERS = 20_000  # as much as ranking reads of other pages
_TERMS_OF_A_PAGE = 200  # different terms, roughly, to turn page counts into a background


class ArchiveLookup(Protocol):
    """Finds archived copies of lost pages."""

    async def best(self, url: str, *, near: datetime | None = None) -> MementoCopy | None:
        """The last good copy, or the one closest to `near`."""


class CopyTermFrequencies(Protocol):
    """Knows how common terms are."""

    def document_frequency(self, term: str, name: str = "body") -> int:
        """How many pages have a term in a field."""

    def size(self) -> int:
        """How many pages there are."""


class ArchivedCopy:
    """An evidence source. `made_at` gives the time a link was made; where it is None, the latest copy counts."""

    name = "copy"

    def __init__(
        self,
        archives: ArchiveLookup,
        collection: CopyTermFrequencies,
        *,
        stop_titles: Iterable[str] = (),
        made_at: Callable[[BrokenLink], datetime | None] = lambda link: None,
    ) -> None:
        self._archives = archives
        self._collection = collection
        self._stop_titles = tuple(stop_titles)
        self._made_at = made_at

    async def evidence(self, link: BrokenLink) -> Evidence | None:
        """The evidence of the best copy; None when archives have none that is text."""
        copy = await self._archives.best(link.url, near=self._made_at(link))
        if copy is None or copy.document is None:
            return None
        fresh = datetime.now(UTC) - copy.memento.at <= FRESH
        return await asyncio.to_thread(
            partial(evidence_of, copy.document, self._collection, fresh=fresh, stop_titles=self._stop_titles)
        )


def evidence_of(
    document: Document,
    collection: CopyTermFrequencies,
    *,
    fresh: bool = True,
    stop_titles: Iterable[str] = (),
) -> Evidence | None:
    """The evidence of a copy of the lost page; the text of a copy that is not `fresh` counts half."""
    terms = _terms(document)
    share = 1.0 if fresh else 0.5
    frequency = cache(collection.document_frequency)  # look each term up once: it is most of the work
    signature = _signature(terms, frequency, collection.size(), SIGNATURE)
    background = termselection.background_of(frequency, max(1, collection.size()) * _TERMS_OF_A_PAGE)
    weights: dict[str, float] = {}
    if not is_stop_title(document.title, stop_titles):
        weights.update(dict.fromkeys(words.terms(document.title, document.language), _TITLE_WEIGHT))
    for most, chosen in (
        (_SIGNATURE_WEIGHT * share, signature),
        (_MODEL_WEIGHT * share, termselection.by_divergence(terms, background, MODEL_TERMS)),
    ):
        for term, weight in chosen:
            weights[term] = max(weights.get(term, 0.0), most * weight / chosen[0][1])
    if not weights:
        return None
    text = title_query(document, stop_titles) or " ".join(signature_words(document, collection))
    return Evidence(source=ArchivedCopy.name, terms=tuple(weights.items()), text=text)


def title_query(document: Document, stop_titles: Iterable[str] = ()) -> str:
    """The title as a query; "" when it says nothing of its page."""
    return "" if is_stop_title(document.title, stop_titles) else document.title


def signature_words(
    document: Document, collection: CopyTermFrequencies, size: int = SIGNATURE
) -> tuple[str, ...]:
    """The lexical signature as words of the page, for people to read and edit."""
    chosen = _signature(_terms(document), collection.document_frequency, collection.size(), size)
    wanted = {term: "" for term, _ in chosen}
    text = _text(document)
    for start, end, term in words.located_terms(text):
        if wanted.get(term) == "":
            wanted[term] = text[start:end].lower()
    return tuple(filter(None, wanted.values()))


def _signature(
    terms: Sequence[str], frequency: termselection.Frequency, pages: int, size: int
) -> termselection.Weighted:
    """The lexical signature; by plain frequency where the collection is too small to know what is rare."""
    found = termselection.lexical_signature(terms, frequency, pages, size)
    return found or termselection.by_frequency(terms, size)


def _text(document: Document) -> str:
    return f"{document.title}\n{document.text}"[:_CHARACTERS]


def _terms(document: Document) -> list[str]:
    return words.terms(_text(document), document.language)
