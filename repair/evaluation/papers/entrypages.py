"""The entry-page task of Westerveld, Kraaij and Hiemstra (TREC-10): find the home page that an anchor names.

The links under test whose target is the start page of a host or of one of its directories. Pages are ranked by the
likelihood of the anchor's words in their text, in the anchors of other links, or in a mixture of both, times a prior
probability: by inlinks, by the type of the URL, or by both. HITS, which did not help in the paper, runs over the
best pages and all pages that they link to or that link to them (Kleinberg's base set).
"""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from repair.collection.collection import Collection
from repair.evaluation.papers.postings import Numbers, Postings, Values, best
from repair.ranking.hits import hits
from repair.ranking.priors import UrlType, combined_prior, inlink_prior, url_prior, url_type
from repair.ranking.scoring import dirichlet
from repair.simulation.pseudobroken import BrokenCase
from repair.simulation.testbed import RankingTestbed
from repair.text import words

_ENTRY = frozenset((UrlType.ROOT, UrlType.SUBROOT))
_ROOT_SET = 100
_MAX_NEIGHBOURS = 50  # inlinks of one page in the base set, as in Kleinberg's paper
_LISTED = 100
_SHARES = {"text": (1.0, 0.0), "anchors": (0.0, 1.0), "mixture": (0.5, 0.5)}


def is_entry_page(url: str) -> bool:
    """Whether a URL is the start of a host, or of a directory at its top."""
    return url_type(url) in _ENTRY


def measure_entry_pages(bench: RankingTestbed) -> tuple[int, dict[str, float]]:
    """How many links lead to entry pages, and the MRR of each way to find them."""
    task = EntryPageTask(bench.collection)
    found: dict[str, list[float]] = {}
    cases = 0
    for case in bench.cases():
        truth = bench.collection.page_number(case.truth)
        if truth is None or not is_entry_page(case.truth):
            continue
        cases += 1
        hidden = bench.numbers(bench.hidden(case))
        for name, pages in task.rankings(case):
            listed = [page for page in pages if page not in hidden][:_LISTED]
            found.setdefault(name, []).append(1 / (1 + listed.index(truth)) if truth in listed else 0.0)
    return cases, {name: sum(values) / cases for name, values in found.items()}


class EntryPageTask:
    """Ranks all pages of a collection for an anchor, in each of the paper's ways."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._text = Postings(collection)
        self._anchors = Postings(collection, ("anchors",))
        urls = collection.page_summaries(self._text.numbers.tolist())
        self._urls = [urls[page].url for page in self._text.numbers.tolist()]
        counts = [len(collection.inlinks(url, 10_000)) for url in self._urls]
        kinds = [url_type(url) for url in self._urls]
        self._priors: dict[str, Values] = {
            "none": np.ones(len(kinds)),
            "inlinks": np.array([inlink_prior(count + 1, sum(counts) + len(counts)) for count in counts]),
            "URL type": np.array([url_prior(kind) for kind in kinds]),
            "both": np.array([combined_prior(*each) for each in zip(kinds, counts, strict=True)]),
        }

    def rankings(self, case: BrokenCase) -> Iterator[tuple[str, Sequence[int]]]:
        """The name of each way, and the pages best first."""
        terms = words.terms(case.link.anchor)
        text, anchors = (self._likelihoods(index, terms) for index in (self._text, self._anchors))
        ranked = partial(self._pages, np.flatnonzero((text > -np.inf) | (anchors > -np.inf)))
        for name, (of_text, of_anchors) in _SHARES.items():
            scores = of_text * _finite(text) + of_anchors * _finite(anchors)
            for prior, chances in self._priors.items():
                yield f"{name}, prior {prior}", ranked(scores + np.log(chances))
        mixture = 0.5 * _finite(text) + 0.5 * _finite(anchors)
        root = ranked(mixture)[:_ROOT_SET]
        yield from self._hits(root).items()

    def _likelihoods(self, index: Postings, terms: Sequence[str]) -> Values:
        found = np.full(index.size, -np.inf)
        matched = index.match(terms)
        ones = np.ones((1, matched.tf.shape[1]), np.float32)
        found[matched.places] = dirichlet(matched.tf, matched.lengths, matched.background, ones)[:, 0]
        return found

    def _pages(self, places: Numbers, scores: Values) -> list[int]:
        found: list[int] = self._text.numbers[best(places, scores[places], 2 * _LISTED)].tolist()
        return found

    def _hits(self, root: Sequence[int]) -> dict[str, list[int]]:
        """The root set and its neighbours by authority; by authority within the root set alone."""
        return {
            "HITS, root set": _by_authority(root, self._links(root)),
            "HITS, base set": _by_authority(base := self._widened(root), self._links(base)),
        }

    def _widened(self, root: Sequence[int]) -> list[int]:
        number = self._collection.page_number
        found = dict.fromkeys(root)
        for url in self._url_of(root):
            linking = (link.source_url for link in self._collection.inlinks(url, _MAX_NEIGHBOURS))
            linked = (link.target_url for link in self._collection.outlinks(url))
            found |= dict.fromkeys(page for each in (*linking, *linked) if (page := number(each)) is not None)
        return list(found)

    def _links(self, pages: Sequence[int]) -> list[tuple[int, int]]:
        places = {url: at for at, url in enumerate(self._url_of(pages))}
        return [
            (source, places[target])
            for url, source in places.items()
            for target in {link.target_url for link in self._collection.outlinks(url)} & places.keys()
        ]

    def _url_of(self, pages: Sequence[int]) -> list[str]:
        return [self._urls[at] for at in np.searchsorted(self._text.numbers, pages)]


def _by_authority(pages: Sequence[int], links: Sequence[tuple[int, int]]) -> list[int]:
    sources, targets = (np.array(ends, np.int64) for ends in zip(*links, strict=True)) if links else _NONE
    _, authorities = hits(sources, targets, len(pages))
    return [pages[at] for at in np.argsort(-authorities, kind="stable")]


def _finite(values: Values) -> Values:
    """Log-likelihoods; a page without any of the words gets the least of those that have some."""
    known = values[np.isfinite(values)]
    return np.where(np.isfinite(values), values, known.min() if len(known) else 0.0)


_NONE = (np.zeros(0, np.int64), np.zeros(0, np.int64))
