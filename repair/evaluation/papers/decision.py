"""Martinez-Romo and Araujo's decision procedure (`repair.ranking.decisionprocedure`) as a baseline."""

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from repair.collection.collection import Collection, FoundPage
from repair.collection.index.fulltext import WEIGHTS
from repair.evaluation.papers.singlesources import LISTED, BaselineRun, SourcePages, on_unknown_host
from repair.model import BrokenLink, HeldPage
from repair.ranking.decisionprocedure import DecisionProcedure


class DecisionBaseline:
    """The procedure without copies of lost pages: a page that is only pretended lost is its own copy."""

    def __init__(self, pages: SourcePages, collection: Collection) -> None:
        self._collection = collection
        self._procedure = DecisionProcedure(_Shown(pages, collection))

    def runs(self, link: BrokenLink) -> Iterator[BaselineRun]:
        """The pages that the procedure recommends."""
        started = time.perf_counter()
        found = self._procedure.recommend(replace(link, url=on_unknown_host(link.url)))[:LISTED]
        seconds = time.perf_counter() - started
        numbers = (self._collection.page_number(each.url) for each in found)
        yield BaselineRun("decision procedure", [number for number in numbers if number is not None], seconds)


class _Shown:
    """A collection whose source page is shown as it was when it had the link."""

    def __init__(self, pages: SourcePages, collection: Collection) -> None:
        self._pages = pages
        self._collection = collection

    def get(self, url: str) -> HeldPage | None:
        return self._pages.get(url)

    def search(
        self, terms: Iterable[tuple[str, float]], *, limit: int, weights: Mapping[str, float] = WEIGHTS
    ) -> tuple[FoundPage, ...]:
        return self._collection.search(terms, limit=limit, weights=weights)

    def document_frequency(self, term: str, name: str = "body") -> int:
        return self._collection.document_frequency(term, name)

    def size(self) -> int:
        return self._collection.size()
