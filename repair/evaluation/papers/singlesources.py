"""Single sources: what is asked when only the anchor, the URL, the context or the source page is believed.

As in Bashir (2018, section 4.2): terms that 40 % of the pages have are left out; of context and source page only the
fifteen terms of highest tf are asked for. tf-idf and divergence from the collection (Martinez-Romo and Araujo 2011,
section 6) choose them as well when told so. Beside these stands the signature of the link neighbourhood (Klein 2011).
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np

from repair import urls, words
from repair.model import BrokenLink, HeldPage
from repair.papers.formula import Tree, values
from repair.papers.postings import WEIGHTINGS, Numbers, Postings, Values, best
from repair.selection import Weighted, by_divergence, by_frequency, by_tf_idf, telling

LISTED = 150
"""Pages that a ranking lists at most; more than count, since some may not be returned."""
SOURCES = ("anchor", "url", "context", "page")
FEATURES = tuple(f"{source}/{weighting}" for source in SOURCES for weighting in WEIGHTINGS)
"""What formulas are made of: every single run, normalised per query to 0..1; 0 for a page without the terms."""
TERMS = 15
_CHARACTERS = 20_000
_NOWHERE = "http://192.0.2.1"  # for documentation, RFC 5737


class Pages(Protocol):
    """Who has the page with the link."""

    def get(self, url: str) -> HeldPage | None:
        """What is held under a URL."""


class Run(NamedTuple):
    """What one model makes of one link: numbers of pages, best first, and how long that took."""

    name: str
    pages: Sequence[int]
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How terms are taken from the long sources: `chosen_by` tf, tfidf or kl; `around` terms of context a side."""

    chosen_by: str = "tf"
    around: int = 20
    terms: int = TERMS


def words_around(link: BrokenLink, around: int) -> list[str]:
    """The terms of the context, so many words before and after the link."""
    before, after = link.before.split()[-around:], link.after.split()[:around]
    return words.terms(" ".join((*before, *after)))


def elsewhere(url: str) -> str:
    """The same path and query on a host without a name, where nothing is held."""
    parts = urls.parse(url)
    return f"{_NOWHERE}{parts.path}" + (f"?{parts.query}" if parts.query else "")


def url_terms(link: BrokenLink) -> list[str]:
    """The terms of the missing address, its host left out: all pages of a site share it."""
    return words.terms(" ".join(urls.path_words(elsewhere(link.url))))


def page_terms(pages: Pages, link: BrokenLink) -> list[str]:
    """The terms of the page with the link, in order; none when nobody has it."""
    page = pages.get(link.source_url) if link.source_url else None
    return words.terms(f"{page.title} \n{page.text[:_CHARACTERS]}", page.language) if page else []


class Reader:
    """What each source would ask for."""

    def __init__(self, pages: Pages, postings: Postings, reading: Reading = Reading()) -> None:
        self._pages = pages
        self._postings = postings
        self._reading = reading
        self._choose: Callable[[Sequence[str]], Weighted] = {
            "tf": lambda terms: by_frequency(terms, reading.terms),
            "tfidf": lambda terms: by_tf_idf(terms, postings.df, postings.size, reading.terms),
            "kl": lambda terms: by_divergence(terms, postings.background, reading.terms),
        }[reading.chosen_by]

    def terms(self, link: BrokenLink, source: str) -> list[str]:
        """The terms that a source asks for."""
        if source == "anchor":
            return self._telling(words.terms(link.anchor))
        if source == "url":
            return self._telling(url_terms(link))
        if source == "context":
            return self._chosen(words_around(link, self._reading.around))
        return self._chosen(page_terms(self._pages, link))

    def _telling(self, terms: Sequence[str]) -> list[str]:
        known = {term: self._postings.df(term) for term in terms}
        return telling(terms, known.__getitem__, self._postings.size)

    def _chosen(self, terms: Sequence[str]) -> list[str]:
        return [term for term, _ in self._choose(self._telling(terms))]


class Singles:
    """Each source by each weighting, and formulas over all of them."""

    def __init__(
        self, reader: Reader, postings: Postings, formulas: Mapping[str, Tree] | None = None
    ) -> None:
        self._reader = reader
        self._postings = postings
        self._formulas = formulas or {}

    def runs(self, link: BrokenLink) -> Iterator[Run]:
        """The pages that each run ranks best; a formula is charged with all the runs it is made of."""
        table = np.zeros((self._postings.size, len(FEATURES)), np.float32)
        started = time.perf_counter()
        found = [run for source in SOURCES for run in self._filled(table, link, source)]
        spent = time.perf_counter() - started
        yield from found
        somewhere = np.flatnonzero(table.any(axis=1))
        for name, tree in self._formulas.items():
            started = time.perf_counter()
            pages = best(somewhere, values(tree, table[somewhere]), LISTED)
            yield Run(name, self._postings.numbers[pages].tolist(), spent + time.perf_counter() - started)

    def _filled(self, table: Values, link: BrokenLink, source: str) -> Iterator[Run]:
        """The runs of one source, their scores put in the table."""
        asked = partial(self._reader.terms, link, source)
        for run, places, found in scored(self._postings, f"{source}/", asked):
            table[places, FEATURES.index(run.name)] = normalised(found)
            yield run


class Asking:
    """One way of choosing terms by some of the weightings; the name of a run is the way's and the weighting's."""

    def __init__(
        self,
        name: str,
        postings: Postings,
        terms: Callable[[BrokenLink], Sequence[str]],
        weightings: Sequence[str] = ("lm",),
    ) -> None:
        self._name = name
        self._postings = postings
        self._terms = terms
        self._weightings = tuple(weightings)

    def runs(self, link: BrokenLink) -> Iterator[Run]:
        """The pages that each weighting ranks best."""
        for run, _, _ in scored(
            self._postings, f"{self._name}/", partial(self._terms, link), self._weightings
        ):
            yield run


def scored(
    postings: Postings,
    prefix: str,
    terms: Callable[[], Sequence[str]],
    weightings: Sequence[str] = tuple(WEIGHTINGS),
) -> Iterator[tuple[Run, Numbers, Values]]:
    """A query by several weightings: each run with the places and scores of all pages that match at all.

    Each run is charged with finding the terms and the pages, as if it were the only one.
    """
    started = time.perf_counter()
    matched = postings.matched(terms())
    shared = time.perf_counter() - started
    for weighting in weightings:
        started = time.perf_counter()
        found = WEIGHTINGS[weighting](matched)
        pages = postings.numbers[best(matched.places, found, LISTED)].tolist()
        run = Run(prefix + weighting, pages, shared + time.perf_counter() - started)
        yield run, matched.places, found


def normalised(found: Values) -> Values:
    """Scores of one query between 0 and 1; 1 for all when all are the same."""
    if not len(found):
        return found
    low, high = found.min(), found.max()
    whole: Values = (found - low) / (high - low) if high > low else np.ones_like(found)
    return whole
