"""Ranking with fixed weights: candidates in, the pages worth offering out, best first, with confidence and reasons.

The weights cover how similar the names are (our copy's title, the anchor, other pages' anchors and URL words
against the candidate's title and URL, as cosines of idf-weighted terms), how well the text matches, and how near
the URLs are. Each part is between 0 and 1, so their weighted mean over the evidence there is can be read as a
confidence, and a page that matches nothing well is not offered at all.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Protocol

from repair.collection.pages import PageSummary
from repair.knowntargets import KnownTarget
from repair.model import BrokenLink, Query
from repair.ranking.candidates import Candidate
from repair.ranking.query import NAMING, STRONG
from repair.text import urls, words

WEIGHTS: Mapping[str, float] = MappingProxyType(
    {
        "copy": 1.5,
        "anchor": 1.2,
        "inlinks": 1.5,
        "url": 1.0,
        "names": 0.8,
        "body": 0.5,
        "context": 0.2,
        "same_name": 0.4,
        "same_site": 0.05,
    }
)
_REASON_AT = 0.35  # a part this strong is given as a reason
# 95 of 100 right answers have 0.5 or more; for 77 of 100 links on subjects not saved no page is above this.
_OFFER_AT = 0.25
_OFFER_RATIO = 0.35  # pages this much weaker than the best are not offered either
_FULL_MATCH = 1.6  # BM25 of one matching term, in idf, that counts as a full match: between 1 and k1 + 1
_MAX_CACHED = 200_000  # cached frequencies
_URL_WEIGHT = 0.8  # weight of words in a URL, relative to words in a title
_GENERIC_NAMES = frozenset({"", "index", "default", "home", "main"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedPage:
    """A page worth offering; `reasons` are codes, the strongest first.

    `confidence` is the probability that it is the lost page, `likeness` how similar its content is, where known.
    """

    page: PageSummary
    score: float
    confidence: float
    reasons: tuple[str, ...]
    likeness: float = 0.0


class DocumentFrequencies(Protocol):
    """Knows how common terms are."""

    def document_frequency(self, term: str, name: str = "body") -> int:
        """How many pages have a term in a field."""

    def size(self) -> int:
        """How many pages there are."""


class PlainRanker:
    """Fixed weights over a handful of similarities."""

    def __init__(self, collection: DocumentFrequencies, *, offer_at: float = _OFFER_AT) -> None:
        self._collection = collection
        self._offer_at = offer_at
        self._idf = _Idf(collection)

    def rank(
        self,
        link: BrokenLink,
        query: Query,
        proposals: Sequence[Candidate],
        known_targets: Iterable[KnownTarget] = (),
    ) -> tuple[RankedPage, ...]:
        """The candidates worth offering, best first."""
        case = PlainCase(link, query, self._current_idf())
        found = (_rank_candidate(proposal, case.parts(proposal)) for proposal in proposals)
        scored = by_confidence(raise_known_targets(found, known_targets))
        least = max(self._offer_at, scored[0].confidence * _OFFER_RATIO) if scored else 0.0
        return tuple(ranked for ranked in scored if ranked.confidence >= least)

    def _current_idf(self) -> "_Idf":
        """Frequencies are cached until the collection has grown or shrunk by a hundredth."""
        idf = self._idf
        if abs(self._collection.size() - idf.size) * 100 > idf.size or len(idf) > _MAX_CACHED:
            self._idf = idf = _Idf(self._collection)
        return idf


def raise_known_targets(
    ranked: Iterable[RankedPage], known_targets: Iterable[KnownTarget]
) -> list[RankedPage]:
    """The pages with their confidence raised by known targets: either may be right where the other is wrong."""
    named: dict[str, list[KnownTarget]] = {}
    for target in known_targets:
        named.setdefault(target.url, []).append(target)
    return [_raise_confidence(choice, named.get(choice.page.url, ())) for choice in ranked]


def _raise_confidence(choice: RankedPage, known_targets: Sequence[KnownTarget]) -> RankedPage:
    if not known_targets:
        return choice
    doubt = math.prod((1 - target.confidence for target in known_targets), start=1 - choice.confidence)
    kinds = dict.fromkeys(target.kind.value for target in known_targets if target.confidence >= _REASON_AT)
    score = choice.score + 1 - doubt - choice.confidence
    return replace(choice, confidence=1 - doubt, score=score, reasons=(*kinds, *choice.reasons))


def by_confidence(ranked: Iterable[RankedPage]) -> list[RankedPage]:
    """The surest first; ties by score, then by URL, so that the order is stable."""
    return sorted(ranked, key=lambda choice: (-choice.confidence, -choice.score, choice.page.url))


class PlainCase:
    """What is known of the lost page, prepared for comparison with many candidates."""

    def __init__(self, link: BrokenLink, query: Query, idf: "_Idf") -> None:
        self._idf = idf
        pieces = {piece.source: piece for piece in query.evidence}
        self._names = {name: _Vector(pieces[name].terms, idf) for name in STRONG if name in pieces}
        strong = [pair for name in STRONG if name in pieces for pair in pieces[name].terms]
        if "copy" in pieces:
            self._names["copy"] = _Vector(_title_terms(pieces["copy"].text, ""), idf)
        context = pieces["context"].terms if "context" in pieces else ()
        # The BM25 score of a page that has every term in abundance, by query.
        full = sum(weight * idf[term] for term, weight in strong) * _FULL_MATCH
        near = sum(weight * idf[term] for term, weight in context) * _FULL_MATCH
        self._full = {
            way: value for way, value in (("names", 2 * full), ("body", full), ("context", near)) if value
        }
        self._site = urls.site(link.url)
        self._name = _name(link.url)

    def parts(self, proposal: Candidate) -> dict[str, float]:
        """The evidence for a page, each part between 0 and 1; parts without evidence are left out."""
        page = proposal.page
        title = _Vector(_title_terms(page.title, page.language), self._idf)
        address = _Vector(_address_terms(page.url), self._idf)
        found = {
            name: max(vector.cosine(title), _URL_WEIGHT * vector.cosine(address))
            for name, vector in self._names.items()
        }
        for way, full in self._full.items():
            found[way] = min(1.0, proposal.scores.get(way, 0.0) / full)
        found["same_name"] = float(_name(page.url) == self._name not in _GENERIC_NAMES)
        found["same_site"] = float(urls.site(page.url) == self._site)
        return found


def _rank_candidate(proposal: Candidate, found: Mapping[str, float]) -> RankedPage:
    score = sum(WEIGHTS[name] * value for name, value in found.items())
    # A different URL says nothing against a page: it may have moved. So bonuses are not expected.
    expected = sum(WEIGHTS[name] for name in found if not name.startswith("same_"))
    confidence = min(1.0, score / expected) if expected else 0.0
    return RankedPage(page=proposal.page, score=score, confidence=confidence, reasons=_reasons(found))


def _reasons(found: Mapping[str, float]) -> tuple[str, ...]:
    strong = {
        name: value for name, value in found.items() if value >= _REASON_AT and name not in ("names", "body")
    }
    likest = max((found.get(name, 0.0) for name in NAMING), default=0.0)
    if likest >= 2 * _REASON_AT:
        strong["title"] = likest
    elif not strong and found.get("body", 0.0) >= _REASON_AT:
        strong["title" if found.get("names", 0.0) >= _REASON_AT else "context"] = found["body"]
    order = sorted(strong, key=lambda name: (-strong[name] * WEIGHTS.get(name, 1.0), name))
    return tuple(order)


class _Idf(dict[str, float]):
    """Inverse document frequencies of a collection at one size, looked up once each."""

    def __init__(self, collection: DocumentFrequencies) -> None:
        super().__init__()
        self._collection = collection
        self.size = collection.size()

    def __missing__(self, term: str) -> float:
        frequency = min(self._collection.document_frequency(term), self.size)
        # A number that no page has belongs to a URL, not to a subject: it says nothing for or against a page.
        unheard = frequency == 0 and term.isdecimal()
        value = 0.0 if unheard else math.log(1 + (self.size - frequency + 0.5) / (frequency + 0.5))
        self[term] = value
        return value


class _Vector:
    """Terms by weight and idf, for cosines."""

    def __init__(self, terms: Iterable[tuple[str, float]], idf: _Idf) -> None:
        self._weights: dict[str, float] = {}
        for term, weight in terms:
            self._weights[term] = max(self._weights.get(term, 0.0), weight * idf[term])
        self._norm = math.sqrt(sum(weight * weight for weight in self._weights.values()))

    def cosine(self, other: "_Vector") -> float:
        """1 for the same words in the same proportions, 0 for none in common."""
        if not self._norm or not other._norm:
            return 0.0
        shared = self._weights.keys() & other._weights.keys()
        dot = sum(self._weights[term] * other._weights[term] for term in shared)
        return min(1.0, dot / (self._norm * other._norm))


@lru_cache(maxsize=16_384)
def _title_terms(title: str, language: str) -> tuple[tuple[str, float], ...]:
    return tuple((term, 1.0) for term in words.terms(title, language))


@lru_cache(maxsize=16_384)
def _address_terms(url: str) -> tuple[tuple[str, float], ...]:
    return tuple((term, 1.0) for term in words.terms(" ".join(urls.path_words(url))))


def _name(url: str) -> str:
    """The last part of the path without its suffix, in lower case."""
    path = url.partition("?")[0].rstrip("/")
    return path.rpartition("/")[2].rpartition(".")[0].lower() or path.rpartition("/")[2].lower()
