"""Queries from a copy of the lost page, alone and one after the other (Klein 2011; Martinez-Romo and Araujo 2011).

Klein asks with the copy's title (TI) or its lexical signature of five or seven terms (LS5, LS7); a user who does not
find the page among the first ten results asks again with the other (TI-LS5 and so on). Martinez-Romo and Araujo
choose terms by their divergence from the collection, and those of the URL by their divergence from all URLs. How many
pages such a query lists before the lost one tells whether re-ranking could find it: S@20, S@50, S@100.
"""

from collections.abc import Callable, Mapping, Sequence

from repair.evaluation.papers.postings import Postings
from repair.evaluation.papers.singlesources import score_pages, url_terms, words_around
from repair.model import HeldPage
from repair.simulation.pseudobroken import BrokenCase
from repair.simulation.testbed import RankingTestbed
from repair.text import words
from repair.text.termselection import background_of, by_divergence, lexical_signature

AT = (1, 10, 20, 50, 100)
"""The depths at which a page counts as found."""
SEQUENCES = (("TI", "LS5"), ("LS5", "TI"), ("LS7", "TI"))
_LOOKED_AT = 10
_TERMS = 10
_URL_TERMS = 4
_CONTEXT = 20
_CHARACTERS = 20_000

Ranks = Mapping[str, int | None]
"""The place of the lost page for each query, from 0; None when it is not listed."""


def measure_sequences(bench: RankingTestbed, tell: Callable[[int], object] = lambda _: None) -> list[Ranks]:
    """The ranks of every link of a bench that knows copies of the lost pages."""
    queries = CopyQueries(bench)
    found = []
    for case in bench.cases():
        found.append(queries.ranks(case))
        tell(len(found))
    return found


class CopyQueries:
    """Asks for a lost page with the terms of its copy, its URL and the context of the link."""

    def __init__(self, bench: RankingTestbed) -> None:
        self._bench = bench
        self._postings = Postings(bench.collection)
        total = max(1, bench.collection.size()) * _URL_TERMS
        self._of_urls = background_of(lambda term: bench.collection.document_frequency(term, "url"), total)

    def ranks(self, case: BrokenCase) -> Ranks:
        """The rank for each query, and for each sequence of two; the bench must be turned to the case."""
        copy = self._bench.view.get(case.link.url)
        found = {name: self._rank(case, terms) for name, terms in self._queries(case, copy).items()}
        for first, second in SEQUENCES:
            if first in found:
                found[f"{first}-{second}"] = then(found[first], found[second])
        return found

    def _queries(self, case: BrokenCase, copy: HeldPage | None) -> dict[str, Sequence[str]]:
        context = words_around(case.link, _CONTEXT)
        found: dict[str, Sequence[str]] = {
            "URL by divergence from URLs": _terms(
                by_divergence(url_terms(case.link), self._of_urls, _URL_TERMS)
            ),
            "context by divergence": _terms(by_divergence(context, self._postings.background, _TERMS)),
        }
        if copy is not None:
            text = words.terms(f"{copy.title} \n{copy.text[:_CHARACTERS]}", copy.language)
            found["TI"] = words.terms(copy.title, copy.language)
            for size in (5, 7):
                signature = lexical_signature(text, self._postings.df, self._postings.size, size)
                found[f"LS{size}"] = _terms(signature)
            found["copy by divergence"] = _terms(by_divergence(text, self._postings.background, _TERMS))
        return found

    def _rank(self, case: BrokenCase, terms: Sequence[str]) -> int | None:
        hidden = self._bench.numbers(self._bench.hidden(case))
        truth = self._bench.collection.page_number(case.truth)
        for run, _, _ in score_pages(self._postings, "", lambda: terms, ("bm25",)):
            pages = [page for page in run.pages if page not in hidden]
            return pages.index(truth) if truth in pages else None
        return None


def then(first: int | None, second: int | None) -> int | None:
    """The rank for a user who asks a second time when the first ten results lack the page."""
    return first if first is not None and first < _LOOKED_AT else second


def found_at(ranks: Sequence[Ranks]) -> dict[str, tuple[float, ...]]:
    """By query, the share of links whose page is within each depth of `AT`."""
    names = dict.fromkeys(name for each in ranks for name in each)
    return {
        name: tuple(
            sum((rank := each.get(name)) is not None and rank < depth for each in ranks) / len(ranks)
            for depth in AT
        )
        for name in names
    }


def _terms(weighted: Sequence[tuple[str, float]]) -> list[str]:
    return [term for term, _ in weighted]
