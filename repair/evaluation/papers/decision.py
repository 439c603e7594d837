"""Martinez-Romo and Araujo's decision procedure (`repair.strategy`) as one of the models measured."""

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from repair.collection import Collection, Found
from repair.index import WEIGHTS
from repair.model import BrokenLink, HeldPage
from repair.papers.singles import LISTED, Pages, Run, elsewhere
from repair.strategy import DecisionProcedure


class Decided:
    """The procedure without copies of lost pages: where a page only pretends to be lost, its own address has one."""

    def __init__(self, pages: Pages, collection: Collection) -> None:
        self._collection = collection
        self._procedure = DecisionProcedure(_Shown(pages, collection))

    def runs(self, link: BrokenLink) -> Iterator[Run]:
        """The pages that the procedure recommends."""
        started = time.perf_counter()
        found = self._procedure.recommend(replace(link, url=elsewhere(link.url)))[:LISTED]
        seconds = time.perf_counter() - started
        numbers = (self._collection.page_number(each.url) for each in found)
        yield Run("decision procedure", [number for number in numbers if number is not None], seconds)


class _Shown:
    """A collection, with the page that has the link as it was when it had it."""

    def __init__(self, pages: Pages, collection: Collection) -> None:
        self._pages = pages
        self._collection = collection

    def get(self, url: str) -> HeldPage | None:
        return self._pages.get(url)

    def search(
        self, terms: Iterable[tuple[str, float]], *, limit: int, weights: Mapping[str, float] = WEIGHTS
    ) -> tuple[Found, ...]:
        return self._collection.search(terms, limit=limit, weights=weights)

    def document_frequency(self, term: str, name: str = "body") -> int:
        return self._collection.document_frequency(term, name)

    def size(self) -> int:
        return self._collection.size()
