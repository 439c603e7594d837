"""A school's own pages and the district's as one collection, so that both are ranked together by the same code.

A page that both have is the school's. Terms are counted over the district, so that a school of fifty pages knows
what is rare. No reader waits for it: a school ranks its own pages as a lone one does, and these come afterwards.
"""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace

from repair.collection.collection import Collection
from repair.collection.index.fulltext import Search
from repair.collection.index.idf import Weights
from repair.collection.index.vectors import Hashes, TermStatistics, TermVectors, unpack
from repair.collection.pages import PageSummary
from repair.evidence.hints import Hints
from repair.evidence.savedcopy import SavedCopy
from repair.model import BrokenLink, HeldPage, InLink, Query
from repair.opensearch.client import SearchUnavailable
from repair.opensearch.sharedpages import SharedPages
from repair.ranking.plain import RankedPage
from repair.ranking.rankers import Find, finder
from repair.settings import RepairSettings
from repair.text.urls import even_sample

log = logging.getLogger(__name__)

Ranked = tuple[tuple[int, float], ...]


class JoinedCollection:
    """What ranking reads; local numbers for pages that the school has, the district's for the others."""

    def __init__(self, local: Collection, shared: SharedPages) -> None:
        self._local = local
        self._shared = shared

    def get(self, url: str) -> HeldPage | None:
        """The page saved here, or shared."""
        return self._local.get(url) or self._shared.get(url)

    def text_of(self, url: str) -> HeldPage | None:
        """The same, without asking the district anything."""
        return self._local.get(url) or self._shared.kept_text(url)

    def inlinks(self, target_url: str, limit: int = 100) -> tuple[InLink, ...]:
        """Links to a URL, those in running text first; a page that both have is taken from here."""
        own = self._local.inlinks(target_url, limit)
        sources = {each.source_url for each in own}
        others = [each for each in self._shared.inlinks(target_url, limit) if each.source_url not in sources]
        return tuple(sorted((*own, *others), key=lambda each: each.link.nav)[:limit])

    def addresses(self, beginning: str, limit: int) -> tuple[str, ...]:
        """Known URLs with a prefix."""
        known = (*self._local.addresses(beginning, limit), *self._shared.addresses(beginning, limit))
        return even_sample(set(known), limit)

    def document_frequency(self, term: str, name: str = "body") -> int:
        """How many pages have a term in a field."""
        return self._counted().document_frequency(term, name)

    def size(self) -> int:
        """How many pages there are."""
        return self._counted().size()

    def statistics(self, terms: Hashes, fields: Sequence[int]) -> TermStatistics:
        """How common terms are."""
        return self._counted().statistics(terms, fields)

    def rarities(self) -> Weights:
        """The idf of all terms."""
        return self._counted().rarities()

    def hits_of(self, searches: Sequence[Search]) -> list[Ranked]:
        """The hits of both, each page once, by the order of both."""
        found = self._shared.found_urls(searches)
        held = self._local.page_numbers(
            self._local.held_among(list({url for hits in found for url, _, _ in hits}))
        )
        shared = [tuple((held.get(url, number), score) for url, number, score in hits) for hits in found]
        return [merge(own, others) for own, others in zip(self._local.hits_of(searches), shared, strict=True)]

    def page_numbers(self, addresses: Iterable[str]) -> dict[str, int]:
        """The numbers of those of some URLs that are saved here or shared."""
        wanted = list(addresses)
        own = self._local.page_numbers(wanted)
        return own | self._shared.page_numbers(url for url in wanted if url not in own)

    def page_summaries(self, pages: Sequence[int]) -> dict[int, PageSummary]:
        """What ranking needs of pages."""
        own = self._local.page_summaries(pages)
        return own | self._shared.page_summaries([page for page in pages if page not in own])

    def vectors(self, pages: Sequence[int]) -> TermVectors:
        """The term vectors of pages, in their order."""
        own = self._local.packed_vectors(pages)
        others = self._shared.load([page for page in pages if page not in own])
        return unpack(pages, own | {number: page.vector for number, page in others.items()})

    def _counted(self) -> Collection | SharedPages:
        """The side that has counted more pages."""
        return self._shared if self._shared.size() >= self._local.size() else self._local


def merge(own: Ranked, others: Ranked) -> Ranked:
    """Two rankings as one: pages in both keep the others' order, and each page of ours alone stays after the page
    that it followed.

    Scores of two indices cannot be compared: each counts its own pages.

    >>> merge(((1, 9.0), (2, 8.0)), ((7, 5.0), (1, 4.0), (8, 3.0)))
    ((7, 5.0), (1, 4.0), (2, 8.0), (8, 3.0))
    """
    ranks = {page: rank for rank, (page, _) in enumerate(others)}
    keyed = [((float(rank), 0), hit) for rank, hit in enumerate(others)]
    after = -0.5
    for rank, hit in enumerate(own):
        if hit[0] in ranks:
            after = ranks[hit[0]] + 0.5
        else:
            keyed.append(((max(after, rank - 0.5) if after < 0 else after, rank), hit))
    return tuple(hit for _, hit in sorted(keyed, key=lambda each: each[0]))


def joined_finder(
    local: Collection,
    shared: SharedPages,
    settings: RepairSettings,
    hints: Hints | None,
    *,
    within_s: float,
) -> tuple[Find, JoinedCollection]:
    """Finds pages of the school and the district together. It takes as long as the district does, at most `within_s`,
    and raises SearchUnavailable when that is not enough, or no answer comes."""
    joined = JoinedCollection(local, shared)
    together = finder(local, settings, hints, among=joined)
    copies = SavedCopy(joined)

    def find(link: BrokenLink, query: Query) -> tuple[RankedPage, ...]:
        try:
            if shared.is_resting():
                raise SearchUnavailable("every node failed a moment ago")
            with shared.one_deadline(within_s):
                shared.prepare(link)
                found = together(link, _with_copy(copies, link, query))
                _load_texts(shared, local, found[: settings.alternatives])
        except SearchUnavailable as error:
            log.info("district: %s: ranked without it: %s", link.url, error)
            raise
        except Exception as error:  # no answer of the district may cost the school's own
            log.exception("district: ranked without it")
            raise SearchUnavailable("no answer that makes sense") from error
        return found

    return find, joined


def _with_copy(copies: SavedCopy, link: BrokenLink, query: Query) -> Query:
    """The query with what the district's page at the lost address says, where the school has none."""
    if any(each.source == SavedCopy.name for each in query.evidence):
        return query
    copy = copies.find(link)
    return query if copy is None else replace(query, evidence=(*query.evidence, copy))


def _load_texts(shared: SharedPages, local: Collection, found: Sequence[RankedPage]) -> None:
    """Load the texts of pages that only the district has; without them they have no snippets."""
    try:
        shared.load_texts(choice.page.url for choice in found if not local.holds(choice.page.url))
    except SearchUnavailable as error:
        log.info("district: no snippets: %s", error)
