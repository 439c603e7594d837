"""The models that ours is measured against, ready to be asked."""

from collections.abc import Iterator, Sequence
from functools import partial, reduce
from typing import Protocol

from repair import words
from repair.collection import Collection
from repair.model import BrokenLink, HeldPage, InLink
from repair.neighbourhood import LinkNeighbourhood
from repair.papers import formula, termclassifier
from repair.papers.decision import Decided
from repair.papers.formula import Tree
from repair.papers.postings import Postings
from repair.papers.singles import FEATURES, Asking, Reader, Reading, Run, Singles, page_terms, url_terms

FORMULA = "sources.json"
"""The formula over the single sources, beside this module."""
OWN_FORMULA = "features.json"
"""The formula over our own features, likewise."""


class Rival(Protocol):
    """A model, or several that share work."""

    def runs(self, link: BrokenLink) -> Iterator[Run]:
        """What each makes of a link."""


class Visible(Protocol):
    """What may be seen of a collection while a link is under test."""

    def get(self, url: str) -> HeldPage | None:
        """What is held under a URL."""

    def inlinks(self, target_url: str, limit: int = 100) -> tuple[InLink, ...]:
        """Links that lead to a URL."""


def rivals(view: Visible, collection: Collection, *, every: bool) -> list[Rival]:
    """The single sources and their sum; with `every` also what costs more or was learnt."""
    postings = Postings(collection)
    reader = Reader(view, postings)
    neighbours = LinkNeighbourhood(_Neighbours(view, postings))
    found: list[Rival] = [
        Singles(reader, postings, {"sum": _sum()} | (_genetic() if every else {})),
        Asking("neighbourhood", postings, partial(_signature, neighbours), ("bm25", "lm")),
    ]
    if every:
        model = termclassifier.shipped()
        found += _other_readings(view, postings)
        found.append(Asking("term classifier", postings, partial(good_terms, model, view), ("bm25", "lm")))
        found.append(Decided(view, collection))
    return found


def good_terms(model: termclassifier.TermModel, view: Visible, link: BrokenLink) -> Sequence[str]:
    """The terms of the source page that the classifier thinks most of."""
    chosen = termclassifier.good_terms(
        model, page_terms(view, link), words.terms(link.anchor), url_terms(link)
    )
    return [term for term, _ in chosen]


def _other_readings(view: Visible, postings: Postings) -> Iterator[Rival]:
    """Context and source page read in the other ways that the papers tried."""
    for around in (5, 10):
        near = Reader(view, postings, Reading(around=around))
        yield Asking(f"context ±{around}", postings, partial(near.terms, source="context"))
    for chosen_by in ("tfidf", "kl"):
        other = Reader(view, postings, Reading(chosen_by=chosen_by))
        for source in ("context", "page"):
            yield Asking(f"{source} by {chosen_by}", postings, partial(other.terms, source=source))


def _genetic() -> dict[str, Tree]:
    tree = formula.shipped(FORMULA, FEATURES)
    return {} if tree is None else {"genetic programming": tree}


def _sum() -> Tree:
    """All single runs, each counting alike."""
    numbers: list[Tree] = list(range(len(FEATURES)))
    return reduce(lambda left, right: ("add", left, right), numbers)


def _signature(neighbours: LinkNeighbourhood, link: BrokenLink) -> list[str]:
    return [term for term, _ in neighbours.signature(link.url, without=link.source_url)]


class _Neighbours:
    """What the link neighbourhood asks of a collection."""

    def __init__(self, view: Visible, postings: Postings) -> None:
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
