"""Single sources: queries from only the anchor, the URL, the context or the source page.

As in Bashir (2018, section 4.2), terms that 40 % of the pages have are left out, and context and source page give
only their fifteen terms of highest tf. `TermChoice` can choose tf-idf or divergence from the collection instead
(Martinez-Romo and Araujo 2011, section 6). The signature of the link neighbourhood is a further source (Klein 2011).
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np

from repair.evaluation.papers.formula import Tree, values
from repair.evaluation.papers.postings import WEIGHTINGS, Numbers, Postings, Values, best
from repair.model import BrokenLink, HeldPage
from repair.text import urls, words
from repair.text.termselection import Weighted, by_divergence, by_frequency, by_tf_idf, drop_common

LISTED = 150
"""Pages that a ranking lists at most; more than are measured, since some may not be returned."""
SOURCES = ("anchor", "url", "context", "page")
FEATURES = tuple(f"{source}/{weighting}" for source in SOURCES for weighting in WEIGHTINGS)
"""The features of formulas: the score of every single run, normalised per query to 0..1; 0 without the terms."""
TERMS = 15
_CHARACTERS = 20_000
_NOWHERE = "http://192.0.2.1"  # for documentation, RFC 5737


class SourcePages(Protocol):
    """Looks up the page that has the link."""

    def get(self, url: str) -> HeldPage | None:
        """The saved page of a URL."""


class BaselineRun(NamedTuple):
    """The ranking of one model for one link: page numbers, best first, and the time it took."""

    name: str
    pages: Sequence[int]
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TermChoice:
    """How terms are chosen from context and page: by tf, tfidf or kl; `around` words on each side of the link."""

    chosen_by: str = "tf"
    around: int = 20
    terms: int = TERMS


def words_around(link: BrokenLink, around: int) -> list[str]:
    """The terms of the context, `around` words before and after the link."""
    before, after = link.before.split()[-around:], link.after.split()[:around]
    return words.terms(" ".join((*before, *after)))


def on_unknown_host(url: str) -> str:
    """The same path and query on an unnamed host, of which the collection has no page."""
    parts = urls.parse(url)
    return f"{_NOWHERE}{parts.path}" + (f"?{parts.query}" if parts.query else "")


def url_terms(link: BrokenLink) -> list[str]:
    """The terms of the missing address without its host, which all pages of a site share."""
    return words.terms(" ".join(urls.path_words(on_unknown_host(link.url))))


def page_terms(pages: SourcePages, link: BrokenLink) -> list[str]:
    """The terms of the source page, in order; none when the page is not there."""
    page = pages.get(link.source_url) if link.source_url else None
    return words.terms(f"{page.title} \n{page.text[:_CHARACTERS]}", page.language) if page else []


class SourceReader:
    """Chooses the query terms of each source."""

    def __init__(self, pages: SourcePages, postings: Postings, reading: TermChoice = TermChoice()) -> None:
        self._pages = pages
        self._postings = postings
        self._reading = reading
        self._choose: Callable[[Sequence[str]], Weighted] = {
            "tf": lambda terms: by_frequency(terms, reading.terms),
            "tfidf": lambda terms: by_tf_idf(terms, postings.df, postings.size, reading.terms),
            "kl": lambda terms: by_divergence(terms, postings.background, reading.terms),
        }[reading.chosen_by]

    def terms(self, link: BrokenLink, source: str) -> list[str]:
        """The query terms of a source."""
        if source == "anchor":
            return self._drop_common(words.terms(link.anchor))
        if source == "url":
            return self._drop_common(url_terms(link))
        if source == "context":
            return self._choose_terms(words_around(link, self._reading.around))
        return self._choose_terms(page_terms(self._pages, link))

    def _drop_common(self, terms: Sequence[str]) -> list[str]:
        known = {term: self._postings.df(term) for term in terms}
        return drop_common(terms, known.__getitem__, self._postings.size)

    def _choose_terms(self, terms: Sequence[str]) -> list[str]:
        return [term for term, _ in self._choose(self._drop_common(terms))]


class SingleSources:
    """Each source by each weighting, and formulas over all of them."""

    def __init__(
        self, reader: SourceReader, postings: Postings, formulas: Mapping[str, Tree] | None = None
    ) -> None:
        self._reader = reader
        self._postings = postings
        self._formulas = formulas or {}

    def runs(self, link: BrokenLink) -> Iterator[BaselineRun]:
        """The ranking of each run; the time of a formula includes all the runs it is made of."""
        table = np.zeros((self._postings.size, len(FEATURES)), np.float32)
        started = time.perf_counter()
        found = [run for source in SOURCES for run in self._fill_table(table, link, source)]
        spent = time.perf_counter() - started
        yield from found
        somewhere = np.flatnonzero(table.any(axis=1))
        for name, tree in self._formulas.items():
            started = time.perf_counter()
            pages = best(somewhere, values(tree, table[somewhere]), LISTED)
            yield BaselineRun(
                name, self._postings.numbers[pages].tolist(), spent + time.perf_counter() - started
            )

    def _fill_table(self, table: Values, link: BrokenLink, source: str) -> Iterator[BaselineRun]:
        """The runs of one source; writes their scores into the table."""
        choose_terms = partial(self._reader.terms, link, source)
        for run, places, found in score_pages(self._postings, f"{source}/", choose_terms):
            table[places, FEATURES.index(run.name)] = normalise_scores(found)
            yield run


class SourceQuery:
    """One term selection with some of the weightings; both names make the name of a run."""

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

    def runs(self, link: BrokenLink) -> Iterator[BaselineRun]:
        """The ranking of each weighting."""
        for run, _, _ in score_pages(
            self._postings, f"{self._name}/", partial(self._terms, link), self._weightings
        ):
            yield run


def score_pages(
    postings: Postings,
    prefix: str,
    terms: Callable[[], Sequence[str]],
    weightings: Sequence[str] = tuple(WEIGHTINGS),
) -> Iterator[tuple[BaselineRun, Numbers, Values]]:
    """Score a query by several weightings: each run, with the places and scores of all pages that match.

    The time of each run includes choosing the terms and matching the pages, as if it were the only one.
    """
    started = time.perf_counter()
    matched = postings.match(terms())
    shared = time.perf_counter() - started
    for weighting in weightings:
        started = time.perf_counter()
        found = WEIGHTINGS[weighting](matched)
        pages = postings.numbers[best(matched.places, found, LISTED)].tolist()
        run = BaselineRun(prefix + weighting, pages, shared + time.perf_counter() - started)
        yield run, matched.places, found


def normalise_scores(found: Values) -> Values:
    """Scores of one query between 0 and 1; 1 for all when all are the same."""
    if not len(found):
        return found
    low, high = found.min(), found.max()
    whole: Values = (found - low) / (high - low) if high > low else np.ones_like(found)
    return whole
