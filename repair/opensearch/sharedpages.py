"""The district's pages as a collection: what ranking reads, answered by OpenSearch in three round trips a repair.

    prepare    links to the lost page, the page of the click, URLs of the site       one round trip
    hits_of    all retrieval queries                                                 one
    load       summaries and term vectors of the candidates                          one

What was loaded is kept for a minute, so that ranking may ask page by page as it asks a local collection. How common
terms are comes from the census and costs nothing. Every method raises SearchUnavailable when the district does not
answer in time.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from repair.bounded import BoundedDict
from repair.collection.collection import FoundPage
from repair.collection.index.fulltext import WEIGHTS, Search
from repair.collection.index.idf import Weights
from repair.collection.index.vectors import FIELDS, Hashes, TermStatistics, TermVectors, unpack
from repair.collection.pages import PageSummary
from repair.model import BrokenLink, HeldPage, InLink, Link
from repair.opensearch import questions
from repair.opensearch.census import EMPTY, Census
from repair.opensearch.client import OpenSearchClient, SearchUnavailable
from repair.opensearch.pagedocument import page_number, site_of
from repair.text import urls
from repair.text.editions import HOST_SAMPLE, hosts_beside

_KEPT_S = 60.0
_SITE_KEPT_S = 900.0
_PAGES, _TEXTS, _TARGETS, _SITES, _BESIDE = 4_000, 200, 500, 64, 4_000
_INLINKS = 40  # ranking reads no more

K = TypeVar("K")
V = TypeVar("V")


class SharedPages:
    """The pages of all schools; any thread may ask."""

    def __init__(
        self,
        client: OpenSearchClient,
        *,
        deadline_s: float,
        census: Census = EMPTY,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`deadline_s` is the limit of one round trip."""
        self._client = client
        self._deadline_s = deadline_s
        self.census = census
        self._clock = clock
        self._thread = threading.local()
        self._pages = _Kept[int, questions.LoadedPage | None](_PAGES, _KEPT_S, clock)
        self._texts = _Kept[str, HeldPage | None](_TEXTS, _KEPT_S, clock)
        self._inlinks = _Kept[str, tuple[InLink, ...]](_TARGETS, _KEPT_S, clock)
        self._sites = _Kept[str, tuple[str, ...]](_SITES, _SITE_KEPT_S, clock)
        self._beside = _Kept[str, tuple[str, ...]](_BESIDE, _SITE_KEPT_S, clock)

    def prepare(self, link: BrokenLink, also: Iterable[str] = ()) -> None:
        """Load what the evidence of a broken link is read from, in one round trip; `also` are pages to read."""
        pages = [
            url
            for url in dict.fromkeys(map(_normal, (link.url, link.source_url or "", *also)))
            if url and url not in self._texts
        ]
        target, site = _normal(link.url), site_of(link.url)
        asked: list[tuple[questions.Query, Callable[[list[Any]], None]]] = []
        if pages:
            numbers = [page_number(url) for url in pages]
            asked.append(
                (questions.pages_query(numbers, text=True), lambda hits: self._keep_texts(pages, hits))
            )
        if target and target not in self._inlinks:
            query = questions.inlinks_query(target, _INLINKS)
            asked.append((query, lambda hits: self._keep_inlinks(target, hits)))
        if site and site not in self._sites:
            sites = [site, *hosts_beside(site)]
            asked.append((questions.sheets_query(sites), lambda hits: self._keep_sites(sites, hits)))
        for (_, keep), hits in zip(asked, self._ask([query for query, _ in asked]), strict=True):
            keep(hits)

    def search(
        self, terms: Iterable[tuple[str, float]], *, limit: int, weights: Mapping[str, float] = WEIGHTS
    ) -> tuple[FoundPage, ...]:
        """Pages for weighted terms, best first."""
        found = self.hits(terms, limit=limit, weights=weights)
        pages = self.page_summaries([number for number, _ in found])
        return tuple(FoundPage(page=pages[number], score=score) for number, score in found if number in pages)

    def hits(
        self, terms: Iterable[tuple[str, float]], *, limit: int, weights: Mapping[str, float] = WEIGHTS
    ) -> tuple[tuple[int, float], ...]:
        """Page numbers and scores, best first."""
        return self.hits_of((Search(terms=tuple(terms), limit=limit, weights=weights),))[0]

    def hits_of(self, searches: Sequence[Search]) -> list[tuple[tuple[int, float], ...]]:
        """The same for several searches, in one round trip."""
        return [tuple((number, score) for _, number, score in found) for found in self.found_urls(searches)]

    def found_urls(self, searches: Sequence[Search]) -> list[list[tuple[str, int, float]]]:
        """The same with the URLs of the pages."""
        found = self._ask([questions.search_query(each) for each in searches])
        return [questions.scored(hits, each.limit) for each, hits in zip(searches, found, strict=True)]

    def page_number(self, url: str) -> int | None:
        """The number of a shared page."""
        return self.page_numbers((url,)).get(url)

    def page_numbers(self, addresses: Iterable[str]) -> dict[str, int]:
        """The numbers of those of some URLs that are shared."""
        numbers = {url: page_number(normal) for url in addresses if (normal := _normal(url))}
        known = self.load(tuple(numbers.values()))
        return {url: number for url, number in numbers.items() if number in known}

    def page_summaries(self, pages: Sequence[int]) -> dict[int, PageSummary]:
        """What ranking needs of pages, by number, in the order of the numbers asked for."""
        known = self.load(pages)
        return {page: known[page].summary for page in pages if page in known}

    def vectors(self, pages: Sequence[int]) -> TermVectors:
        """The term vectors of pages, in their order."""
        return unpack(pages, {number: page.vector for number, page in self.load(pages).items()})

    def load(self, pages: Sequence[int]) -> dict[int, questions.LoadedPage]:
        """Summaries and vectors, in at most one round trip; pages that are not shared are left out."""
        missing = [page for page in dict.fromkeys(pages) if page not in self._pages]
        for hits in self._ask([questions.pages_query(missing)] if missing else []):
            self._keep_pages(missing, hits)
        known = ((page, self._pages.get(page)) for page in pages)
        return {page: found for page, found in known if found is not None}

    def statistics(self, terms: Hashes, fields: Sequence[int] = tuple(range(len(FIELDS)))) -> TermStatistics:
        """How common terms are, by field, and the totals."""
        return self.census.statistics(terms, fields)

    def rarities(self) -> Weights:
        """The idf of all terms, by the buckets of `repair.collection.index.idf`."""
        return self.census.rarities

    def document_frequency(self, term: str, name: str = "body") -> int:
        """How many pages have a term in a field."""
        return self.census.document_frequency(term, name)

    def size(self) -> int:
        """How many pages there are."""
        return self.census.pages

    def get(self, url: str) -> HeldPage | None:
        """The page shared under a URL, with the beginning of its text."""
        normal = _normal(url)
        if not normal:
            return None
        if normal not in self._texts:
            hits = self._ask([questions.pages_query([page_number(normal)], text=True)])[0]
            self._keep_texts([normal], hits)
        return self._texts.get(normal)

    def holds(self, url: str) -> bool:
        """Whether a page is shared under a URL."""
        return self.page_number(url) is not None

    def inlinks(self, target_url: str, limit: int = 100) -> tuple[InLink, ...]:
        """Links in texts of shared pages that lead to a URL, shared or not."""
        normal = _normal(target_url)
        if not normal:
            return ()
        if normal not in self._inlinks:
            self._keep_inlinks(normal, self._ask([questions.inlinks_query(normal, _INLINKS)])[0])
        return (self._inlinks.get(normal) or ())[:limit]

    def outlinks(self, source_url: str) -> tuple[Link, ...]:
        """Links in the text of a shared page, in page order."""
        normal = _normal(source_url)
        if not normal:
            return ()
        return tuple(questions.links_of(self._ask([questions.outlinks_query(page_number(normal))])[0]))

    def addresses(self, beginning: str, limit: int) -> tuple[str, ...]:
        """URLs of shared pages of a site, given by the beginning of its URLs, sampled evenly."""
        if limit <= HOST_SAMPLE and beginning in self._beside:
            return (self._beside.get(beginning) or ())[:limit]
        if beginning not in self._sites:
            self._keep_sites([beginning], self._ask([questions.sheets_query([beginning])])[0])
        return (self._sites.get(beginning) or ())[:limit]

    @contextmanager
    def one_deadline(self, within_s: float) -> Iterator[None]:
        """All round trips of this thread within the block together take no longer."""
        self._thread.ends_at = self._clock() + within_s
        try:
            yield
        finally:
            self._thread.ends_at = None

    def is_resting(self) -> bool:
        """Whether the district failed a moment ago, and is not asked."""
        return self._client.is_resting()

    def load_texts(self, addresses: Iterable[str]) -> None:
        """Load pages with their texts, in one round trip, for `kept_text`."""
        wanted = [url for url in addresses if url not in self._texts]
        if wanted:
            query = questions.pages_query([page_number(url) for url in wanted], text=True)
            self._keep_texts(wanted, self._ask([query])[0])

    def kept_text(self, url: str) -> HeldPage | None:
        """A page that was loaded a moment ago; asks nobody."""
        return self._texts.get(url)

    def _ask(self, queries: Sequence[questions.Query]) -> list[list[Any]]:
        ends_at: float | None = getattr(self._thread, "ends_at", None)
        within_s = self._deadline_s if ends_at is None else ends_at - self._clock()
        if within_s <= 0:
            raise SearchUnavailable("too late for another question")
        return questions.search_many(self._client, queries, within_s=within_s)

    def _keep_pages(self, asked: Iterable[int], hits: list[Any]) -> None:
        found = {page.summary.page: page for page in questions.loaded(hits)}
        for number in asked:
            self._pages[number] = found.get(number)

    def _keep_texts(self, asked: Sequence[str], hits: list[Any]) -> None:
        self._keep_pages([page_number(url) for url in asked], hits)
        found = {page.url: page for page in questions.with_text(hits)}
        for url in asked:
            self._texts[url] = found.get(url)

    def _keep_inlinks(self, target: str, hits: list[Any]) -> None:
        pages = {page.summary.page: page for page in questions.loaded(hits)}
        # Ranking compares candidates with the pages that link to the lost one.
        for number, page in pages.items():
            self._pages[number] = page
        links = questions.linking(target, hits)
        self._inlinks[target] = tuple(InLink(source_url=source, link=link) for source, link in links)

    def _keep_sites(self, asked: Sequence[str], hits: list[Any]) -> None:
        found = dict(questions.sheets_of(hits))
        site, *beside = asked
        self._sites[site] = found.get(site, ())
        for each in beside:
            self._beside[each] = found.get(each, ())[:HOST_SAMPLE]


class _Kept(Generic[K, V]):
    """What was loaded, for a while; the newest entries only."""

    def __init__(self, limit: int, seconds: float, clock: Callable[[], float]) -> None:
        self._entries = BoundedDict[K, tuple[float, V]](limit)
        self._seconds = seconds
        self._clock = clock

    def __contains__(self, key: K) -> bool:
        entry = self._entries.get(key)
        return entry is not None and self._clock() - entry[0] < self._seconds

    def __setitem__(self, key: K, value: V) -> None:
        self._entries[key] = (self._clock(), value)

    def get(self, key: K) -> V | None:
        entry = self._entries.get(key)
        return None if entry is None else entry[1]


def _normal(url: str) -> str:
    """The normal form of a URL; empty when it is no web URL."""
    try:
        return urls.normal(url)
    except ValueError:
        return ""
