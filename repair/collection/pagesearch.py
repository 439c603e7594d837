"""A search in the saved pages as people do it: words, filters, result pages, and a suggestion for misspelt words.

The index ranks; filters are applied to its best hits, as many as can be looked up in some milliseconds. Blocks.
"""

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from repair.collection.collection import Collection
from repair.collection.listing import BrowsedPage, PageListing
from repair.collection.spelling import suggest
from repair.model import Alternative
from repair.text import words
from repair.text.snippets import snippet

PER_PAGE = 20
_MOST = 1_000  # hits that are looked up; nobody reads further
_SNIPPET_CHARACTERS = 8_000

UrlsOfTopic = Callable[[str], AbstractSet[str]]
"""Returns the addresses of the pages of a topic."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """What a person typed and chose; "" for no filter. Result pages count from 1."""

    text: str
    topic: str = ""
    language: str = ""
    kind: str = ""
    page: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResults:
    """One page of results. `total` counts those that were looked up, `has_more` when there are pages after this one,
    `suggestion` is another spelling, "" for none.
    """

    found: tuple[Alternative, ...] = ()
    total: int = 0
    has_more: bool = False
    suggestion: str = ""


class FilteredSearch:
    """Searches one collection."""

    def __init__(self, collection: Collection, listing: PageListing, urls_of_topic: UrlsOfTopic) -> None:
        self._collection = collection
        self._listing = listing
        self._urls_of_topic = urls_of_topic

    def search(self, request: SearchRequest) -> SearchResults:
        """Saved pages for the words, best first."""
        terms = [(term, 1.0) for term in words.terms(request.text)]
        hits = self._collection.hits(terms, limit=_MOST) if terms else ()
        pages = self._filter(request, self._without_copies([number for number, _ in hits]))
        scores = dict(hits)
        start = (request.page - 1) * PER_PAGE
        shown = pages[start : start + PER_PAGE]
        top = hits[0][1] if hits else 1.0
        tokens = words.tokens(request.text)
        is_first = request.page == 1
        return SearchResults(
            found=tuple(self._result(page, scores[number] / top, tokens) for number, page in shown),
            total=len(pages),
            has_more=len(pages) > start + PER_PAGE,
            suggestion=suggest(self._collection, request.text) if is_first and terms else "",
        )

    def _without_copies(self, numbers: list[int]) -> list[int]:
        """Each text once, at the place of its best hit."""
        summaries, seen, kept = self._collection.page_summaries(numbers), set[bytes](), []
        for number in numbers:
            page = summaries.get(number)
            if page is not None and page.digest not in seen:
                seen.add(page.digest)
                kept.append(number)
        return kept

    def _filter(self, request: SearchRequest, numbers: list[int]) -> list[tuple[int, BrowsedPage]]:
        described = self._listing.describe(numbers)
        of_topic = self._urls_of_topic(request.topic) if request.topic else frozenset()
        return [
            (number, page)
            for number in numbers
            if (page := described.get(number)) is not None
            and request.language in ("", page.language)
            and request.kind in ("", page.kind)
            and (not request.topic or page.url in of_topic)
        ]

    def _result(self, page: BrowsedPage, share: float, tokens: list[str]) -> Alternative:
        saved = self._collection.get(page.url)
        text = saved.text[:_SNIPPET_CHARACTERS] if saved else ""
        return Alternative(
            url=page.url,
            title=page.title,
            snippet=snippet(text, tokens, language=page.language),
            score=share,
            confidence=share,
        )
