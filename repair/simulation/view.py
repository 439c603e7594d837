"""A collection as one broken link under test may see it: with the page that had the link, without the page gone."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from repair.collection import Collection
from repair.index import WEIGHTS
from repair.model import HeldPage, InLink
from repair.pages import Brief
from repair.rarity import Weights
from repair.simulate import Case
from repair.vectors import Hashes, Statistics, Vectors
from repair.worn import worn

_LONG_AGO = datetime(1990, 1, 1, tzinfo=UTC)


class View:
    """What `repair.learnedrank` asks of a collection, as far as the case shown allows."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._case: Case | None = None
        self._gone: str | None = None
        self._copy: HeldPage | None = None

    def show(self, case: Case, *, gone: bool = False, copied: bool = False) -> None:
        """Turn to a case. With `gone` its answer is not held, so what it says of others is not known either; when
        it was `copied`, an older version of it is held at the address lost."""
        self._case = case
        self._gone = case.truth if gone else None
        lost = self._collection.get(case.truth) if copied else None
        self._copy = replace(worn(lost), url=case.link.url) if lost else None

    def get(self, url: str) -> HeldPage | None:
        """What is held under a URL; the page with the link as it was when it had it."""
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
        """Known addresses with a beginning."""
        return self._collection.addresses(beginning, limit)

    def hits(
        self, terms: Iterable[tuple[str, float]], *, limit: int, weights: Mapping[str, float] = WEIGHTS
    ) -> tuple[tuple[int, float], ...]:
        """Page numbers and scores, best first."""
        return self._collection.hits(terms, limit=limit, weights=weights)

    def briefs(self, pages: Sequence[int]) -> dict[int, Brief]:
        """What ranking needs of pages, by number."""
        return self._collection.briefs(pages)

    def page_number(self, url: str) -> int | None:
        """The number of a held page."""
        return self._collection.page_number(url)

    def document_frequency(self, term: str, name: str = "body") -> int:
        """In how many pages a field has a term."""
        return self._collection.document_frequency(term, name)

    def size(self) -> int:
        """How many pages there are."""
        return self._collection.size()

    def rarities(self) -> Weights:
        """How rare all terms are."""
        return self._collection.rarities()

    def vectors(self, pages: Sequence[int]) -> Vectors:
        """The term vectors of pages, in their order."""
        return self._collection.vectors(pages)

    def statistics(self, terms: Hashes, fields: Sequence[int]) -> Statistics:
        """How common terms are."""
        return self._collection.statistics(terms, fields)
