"""The baselines that our model is compared with."""

from collections.abc import Iterator, Sequence
from functools import partial, reduce
from typing import Protocol

from repair.collection.collection import Collection
from repair.evaluation.papers import formula, termclassifier
from repair.evaluation.papers.decision import DecisionBaseline
from repair.evaluation.papers.formula import Tree
from repair.evaluation.papers.postings import Postings
from repair.evaluation.papers.singlesources import (
    FEATURES,
    SOURCES,
    TERMS,
    BaselineRun,
    SingleSources,
    SourceQuery,
    SourceReader,
    TermChoice,
    on_unknown_host,
    page_terms,
    url_terms,
)
from repair.evidence.neighbourhood import LinkNeighbourhood
from repair.model import BrokenLink, HeldPage, InLink
from repair.text import urls, words

FORMULA = "sources.json"
"""The file of the formula over the single sources."""
OWN_FORMULA = "features.json"
"""The file of the formula over our own features."""


class Baseline(Protocol):
    """A baseline model, or several that share work."""

    def runs(self, link: BrokenLink) -> Iterator[BaselineRun]:
        """The ranking of each model for a link."""


class VisibleCollection(Protocol):
    """The collection as it may be seen while a link is under test."""

    def get(self, url: str) -> HeldPage | None:
        """The saved page of a URL."""

    def inlinks(self, target_url: str, limit: int = 100) -> tuple[InLink, ...]:
        """Links that lead to a URL."""


def baselines(view: VisibleCollection, collection: Collection, *, every: bool) -> list[Baseline]:
    """The single sources and their sum; with `every` also the slower and the trained models."""
    postings = Postings(collection)
    reader = SourceReader(view, postings)
    neighbours = LinkNeighbourhood(_Neighbours(view, postings))
    found: list[Baseline] = [
        SingleSources(reader, postings, {"sum": _sum()} | (_genetic() if every else {})),
        SourceQuery("neighbourhood", postings, partial(_signature, neighbours), ("bm25", "lm")),
    ]
    if every:
        model = termclassifier.shipped_model()
        found += _other_readings(view, postings)
        found += _plain_scripts(collection)
        found.append(
            SourceQuery("term classifier", postings, partial(good_terms, model, view), ("bm25", "lm"))
        )
        found.append(DecisionBaseline(view, collection))
    return found


def good_terms(model: termclassifier.TermModel, view: VisibleCollection, link: BrokenLink) -> Sequence[str]:
    """The terms of the source page that the classifier ranks best."""
    chosen = termclassifier.good_terms(
        model, page_terms(view, link), words.terms(link.anchor), url_terms(link)
    )
    return [term for term, _ in chosen]


def _other_readings(view: VisibleCollection, postings: Postings) -> Iterator[Baseline]:
    """Context and source page with the other term selections that the papers tried."""
    for around in (5, 10):
        near = SourceReader(view, postings, TermChoice(around=around))
        yield SourceQuery(f"context ±{around}", postings, partial(near.terms, source="context"))
    for chosen_by in ("tfidf", "kl"):
        other = SourceReader(view, postings, TermChoice(chosen_by=chosen_by))
        for source in ("context", "page"):
            yield SourceQuery(f"{source} by {chosen_by}", postings, partial(other.terms, source=source))
    wide = SourceReader(view, postings, TermChoice(terms=2 * TERMS))
    for source in SOURCES[:-1]:
        yield SourceQuery(f"page minus {source}", postings, partial(_page_without, wide, source))


def _plain_scripts(collection: Collection) -> Iterator[Baseline]:
    """Anchor and URL as a plain script would query with them: words as written, none left out."""
    postings = Postings(collection, as_written=True)
    for name, query in (("anchor", _anchor_words), ("url", _url_words)):
        yield SourceQuery(f"{name} as written", postings, query, ("bm25", "lm"))


def _anchor_words(link: BrokenLink) -> list[str]:
    return list(words.tokens(link.anchor))


def _url_words(link: BrokenLink) -> list[str]:
    return list(words.tokens(" ".join(urls.path_words(on_unknown_host(link.url)))))


def _page_without(reader: SourceReader, source: str, link: BrokenLink) -> list[str]:
    """The query of the source page without the terms that another source gives (Bashir, table 6)."""
    left_out = set(reader.terms(link, source))
    return [term for term in reader.terms(link, "page") if term not in left_out][:TERMS]


def _genetic() -> dict[str, Tree]:
    tree = formula.shipped_formula(FORMULA, FEATURES)
    return {} if tree is None else {"genetic programming": tree}


def _sum() -> Tree:
    """The sum of all single runs, with equal weights."""
    numbers: list[Tree] = list(range(len(FEATURES)))
    return reduce(lambda left, right: ("add", left, right), numbers)


def _signature(neighbours: LinkNeighbourhood, link: BrokenLink) -> list[str]:
    return [term for term, _ in neighbours.signature(link.url, without=link.source_url)]


class _Neighbours:
    """The collection as the link neighbourhood needs it."""

    def __init__(self, view: VisibleCollection, postings: Postings) -> None:
        self._view = view
        self._postings = postings

    def inlinks(self, target_url: str, limit: int = 100) -> tuple[InLink, ...]:
        return self._view.inlinks(target_url, limit)

    def get(self, url: str) -> HeldPage | None:
        return self._view.get(url)

    def document_frequency(self, term: str, name: str = "body") -> int:
        return self._postings.df(term)

    def size(self) -> int:
        return self._postings.size
