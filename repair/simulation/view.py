"""A collection as visible to one broken link under test: with the page that had the link, without the lost page."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from repair.collection.collection import Collection
from repair.collection.index.fulltext import Search
from repair.collection.index.idf import Weights
from repair.collection.index.vectors import Hashes, TermStatistics, TermVectors
from repair.collection.pages import PageSummary
from repair.model import HeldPage, InLink
from repair.simulation.oldversion import make_older
from repair.simulation.pseudobroken import BrokenCase

_LONG_AGO = datetime(1990, 1, 1, tzinfo=UTC)


class EvaluationView:
    """The interface that `repair.ranking.learned` needs, restricted to what the case may see."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._case: BrokenCase | None = None
        self._gone: str | None = None
        self._copy: HeldPage | None = None

    def show(self, case: BrokenCase, *, gone: bool = False, copied: bool = False) -> None:
        """Select a case.

        With `gone` its answer is not saved, so what it says of others is not known either; when it was `copied`, an
        older version of it is saved under the lost URL.
        """
        self._case = case
        self._gone = case.truth if gone else None
        lost = self._collection.get(case.truth) if copied else None
        self._copy = replace(make_older(lost), url=case.link.url) if lost else None

    def get(self, url: str) -> HeldPage | None:
        """The page saved under a URL; the page with the link as it was when it had it."""
        if self._copy is not None and self._copy.url == url:
            return self._copy
        source = self._case.source if self._case else None
        if source is None or source.url != url:
            return self._collection.get(url)
        return HeldPage(
            url=url,
            title=source.title,
            text=source.text,
            language=source.language,
            fetched_at=_LONG_AGO,
            pinned=False,
            has_copy=False,
        )

    def inlinks(self, target_url: str, limit: int = 100) -> tuple[InLink, ...]:
        """Links that lead to a URL."""
        found = self._collection.inlinks(target_url, limit)
        return tuple(inlink for inlink in found if inlink.source_url != self._gone)

    def addresses(self, beginning: str, limit: int) -> tuple[str, ...]:
        """Known URLs with a prefix."""
        return self._collection.addresses(beginning, limit)

    def hits_of(self, searches: Sequence[Search]) -> list[tuple[tuple[int, float], ...]]:
        """Page numbers and scores, best first, for each search."""
        return self._collection.hits_of(searches)

    def page_summaries(self, pages: Sequence[int]) -> dict[int, PageSummary]:
        """What ranking needs of pages, by number."""
        return self._collection.page_summaries(pages)

    def page_numbers(self, addresses: Iterable[str]) -> dict[str, int]:
        """The numbers of those of some URLs that are saved."""
        return self._collection.page_numbers(addresses)

    def document_frequency(self, term: str, name: str = "body") -> int:
        """How many pages have a term in a field."""
        return self._collection.document_frequency(term, name)

    def size(self) -> int:
        """How many pages there are."""
        return self._collection.size()

    def rarities(self) -> Weights:
        """The idf of all terms."""
        return self._collection.rarities()

    def vectors(self, pages: Sequence[int]) -> TermVectors:
        """The term vectors of pages, in their order."""
        return self._collection.vectors(pages)

    def statistics(self, terms: Hashes, fields: Sequence[int]) -> TermStatistics:
        """How common terms are."""
        return self._collection.statistics(terms, fields)
